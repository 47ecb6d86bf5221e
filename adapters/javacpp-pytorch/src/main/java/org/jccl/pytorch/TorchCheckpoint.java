package org.jccl.pytorch;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.DoubleStream;
import org.bytedeco.pytorch.Generator;
import org.bytedeco.pytorch.InputArchive;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.JcclException;
import org.jccl.ProcessGroup;
import org.jccl.UsageException;
import org.jccl.training.Checkpoint;
import org.jccl.training.CheckpointException;
import org.jccl.training.CheckpointWriter;
import org.jccl.training.DifferentModelsException;
import org.jccl.training.Shard;
import org.jccl.training.ShardedUnit;

/**
 * The state of a training as a {@link Checkpoint}: parameters and buffers by their names in the
 * module, the state of the optimizer by the names of the parameters, the options of its groups,
 * such as the learning rate, and the state of PyTorch's random generator on the CPU of each rank. A
 * whole module and one that is divided by {@link FullyShardedDataParallel} have the same form, so
 * each can continue from the other's checkpoint, with another number of ranks.
 *
 * <pre>{@code
 * TorchCheckpoint state = TorchCheckpoint.of(world, fsdp, optimizer);
 * if (Checkpoint.exists(directory)) {
 *     step = Integer.parseInt(state.load(directory).get("step"));
 * }
 * ...
 * state.save(directory, Map.of("step", Integer.toString(step)));
 * }</pre>
 *
 * <p>Epoch and step are texts of the program. Optimizers whose state is tensors of the parameter's
 * shape and whole numbers can be saved: Adam, AdamW, SGD. PyTorch gives no access to the state of a
 * learning rate scheduler, which is its number of steps, but the rate is saved. So the program
 * first repeats the steps of a new scheduler, and then loads:
 *
 * <pre>{@code
 * Checkpoint saved = Checkpoint.open(directory);
 * for (int i = 0; i < Integer.parseInt(saved.metadata().get("step")); i++) {
 *     scheduler.step();
 * }
 * state.load(saved);
 * }</pre>
 *
 * <p>All ranks must make the same calls in the same order. Not thread-safe.
 */
public final class TorchCheckpoint {

    private static final String OPTIMIZER = "optimizer.";
    private static final String OPTIONS = OPTIMIZER + "options.";
    private static final String GROUP = OPTIONS + "group.";
    private static final String RANDOM = "random.cpu.";

    /** What an optimizer updates: a parameter, or this rank's part of a unit. */
    private interface Updated {

        Tensor tensor();

        /** The parameters in it. */
        List<String> names();

        /** The parts of a state tensor, by the names of the parameters after a prefix. */
        List<Shard> shards(String prefix, org.jccl.Tensor state);
    }

    private record WholeParameter(String name, Tensor tensor) implements Updated {
        @Override
        public List<String> names() {
            return List.of(name);
        }

        @Override
        public List<Shard> shards(String prefix, org.jccl.Tensor state) {
            return List.of(Shard.replicated(prefix + name, state, TorchTensors.shape(tensor)));
        }
    }

    private record PartOfUnit(ShardedUnit unit, Tensor tensor) implements Updated {
        @Override
        public List<String> names() {
            return unit.parameterNames();
        }

        @Override
        public List<Shard> shards(String prefix, org.jccl.Tensor state) {
            return unit.shards(prefix, state);
        }
    }

    private final ProcessGroup group;
    private final FullyShardedDataParallel fsdp;
    private final Map<String, Tensor> module;
    private final Optimizer optimizer;
    private final Device device;

    /** What each group of the optimizer updates. */
    private final List<List<Updated>> groups = new ArrayList<>();

    private TorchCheckpoint(
            ProcessGroup group,
            FullyShardedDataParallel fsdp,
            Map<String, Tensor> module,
            Optimizer optimizer) {
        if (group == null || optimizer == null) {
            throw TorchTensors.usage((group == null ? "group" : "optimizer") + " is null");
        }
        this.group = group;
        this.fsdp = fsdp;
        this.module = module;
        this.optimizer = optimizer;
        this.device = module == null ? Device.CPU : ModelTensors.device(module);
        Map<Long, Updated> known = new LinkedHashMap<>();
        if (fsdp == null) {
            module.forEach((name, tensor) -> add(known, new WholeParameter(name, tensor)));
        } else {
            fsdp.units().forEach(each -> add(known, new PartOfUnit(each.unit(), each.shard())));
        }
        Set<Updated> seen = new HashSet<>();
        for (List<Tensor> parameters : OptimizerState.groups(optimizer)) {
            List<Updated> updated = new ArrayList<>();
            for (Tensor parameter : parameters) {
                Updated of = known.get(ModelTensors.identity(parameter));
                if (of == null) {
                    throw TorchTensors.usage(
                            "parameter "
                                    + updated.size()
                                    + " of group "
                                    + groups.size()
                                    + " of the optimizer does not belong to this module; make the"
                                    + " optimizer of module.parameters(), or of fsdp.parameters()");
                }
                if (!seen.add(of)) {
                    throw TorchTensors.usage(
                            "the optimizer has parameter "
                                    + String.join(", ", of.names())
                                    + " twice, the second time as parameter "
                                    + updated.size()
                                    + " of group "
                                    + groups.size()
                                    + ", and would update it twice in a step; module.parameters()"
                                    + " lists a layer once for each of its names: give the"
                                    + " optimizer each tensor once");
                }
                updated.add(of);
            }
            groups.add(updated);
        }
    }

    private static void add(Map<Long, Updated> known, Updated each) {
        known.put(ModelTensors.identity(each.tensor()), each);
    }

    /**
     * The state of a module that is whole on each rank, and the same on all ranks.
     *
     * @param group whose ranks save; the caller still owns it
     * @param module the caller still owns it
     * @param optimizer of parameters of the module; the caller still owns it
     * @return the state
     * @throws UsageException if an argument is null, or the optimizer has other parameters
     */
    public static TorchCheckpoint of(ProcessGroup group, Module module, Optimizer optimizer) {
        return new TorchCheckpoint(group, null, ModelTensors.of(module), optimizer);
    }

    /**
     * The state of a divided module.
     *
     * @param group whose ranks save, and that {@code fsdp} was made of; the caller still owns it
     * @param fsdp must be open as long as the result is used; the caller still owns it
     * @param optimizer of {@code fsdp.parameters()}; the caller still owns it
     * @return the state
     * @throws UsageException if an argument is null, or the optimizer has other parameters
     */
    public static TorchCheckpoint of(
            ProcessGroup group, FullyShardedDataParallel fsdp, Optimizer optimizer) {
        if (fsdp == null) {
            throw TorchTensors.usage("fsdp is null");
        }
        return new TorchCheckpoint(group, fsdp, null, optimizer);
    }

    /**
     * Saves the state as {@link Checkpoint#save} does. Buffers must be the same on all ranks: with
     * batch normalization, call {@code broadcast} of {@code DistributedDataParallel} or {@code
     * FullyShardedDataParallel} first.
     *
     * @param directory a directory that all ranks see under this name
     * @param texts by name, for instance the step
     * @throws UsageException as {@link Checkpoint#save}
     * @throws DifferentModelsException as {@link Checkpoint#save}
     * @throws CheckpointException as {@link Checkpoint#save}, or if the temporary directory of this
     *     host cannot be written
     * @throws JcclException as {@link Checkpoint#save}
     */
    public void save(Path directory, Map<String, String> texts) {
        TorchStreams.onCurrent(device, () -> Checkpoint.save(group, directory, shards(), texts));
    }

    /**
     * Returns what a checkpoint of this state consists of, for {@link CheckpointWriter#save}, or to
     * be saved with other tensors. The state of the optimizer and of the generator is a copy. The
     * archive of the optimizer takes twice its size of memory for the moment, and a temporary file.
     * On CUDA, save them while {@link TorchStreams#current} is in use. {@link #save} and {@link
     * #load} use it themselves, for the first CUDA device of the module's tensors.
     *
     * @return the shards of this rank
     * @throws CheckpointException if the temporary directory of this host cannot be written
     * @throws UsageException if {@code fsdp} is closed
     */
    public List<Shard> shards() {
        List<Shard> shards = new ArrayList<>(modelShards());
        try (InputArchive archive = OptimizerState.archive(optimizer)) {
            for (Updated each : updated()) {
                OptimizerState.of(archive, each.tensor())
                        .forEach(
                                (name, value) -> {
                                    String prefix = OPTIMIZER + name + ".";
                                    if (value instanceof Tensor tensor) {
                                        shards.addAll(each.shards(prefix, TorchTensors.of(tensor)));
                                    } else {
                                        each.names()
                                                .forEach(
                                                        of ->
                                                                shards.add(
                                                                        number(
                                                                                prefix + of,
                                                                                value)));
                                    }
                                });
            }
            shards.addAll(options(OptimizerState.options(archive, groups.size())));
        }
        try (Generator generator = torch.getDefaultCPUGenerator()) {
            org.jccl.Tensor random = TorchTensors.of(generator.get_state());
            shards.add(Shard.part(RANDOM + group.rank(), 0, random, random.count()));
        }
        return shards;
    }

    private List<Updated> updated() {
        return groups.stream().flatMap(List::stream).toList();
    }

    /** The group of each parameter, and a table of each option with a row for each group. */
    private List<Shard> options(List<Map<String, double[]>> options) {
        List<Shard> shards = new ArrayList<>();
        for (int i = 0; i < groups.size(); i++) {
            long group = i;
            names(i).forEach(name -> shards.add(number(GROUP + name, group)));
        }
        options.get(0)
                .forEach(
                        (name, first) -> {
                            double[] rows =
                                    options.stream()
                                            .flatMapToDouble(row -> DoubleStream.of(row.get(name)))
                                            .toArray();
                            shards.add(
                                    Shard.replicated(
                                            OPTIONS + name,
                                            TorchTensors.of(Tensor.create(rows)),
                                            groups.size(),
                                            first.length));
                        });
        return shards;
    }

    private List<String> names(int group) {
        return groups.get(group).stream().flatMap(each -> each.names().stream()).toList();
    }

    private List<Shard> modelShards() {
        return fsdp != null
                ? fsdp.shards()
                : ModelTensors.named(module).stream()
                        .map(each -> new Shard(each.name(), each.shape(), 0, each.tensor(), true))
                        .toList();
    }

    private static Shard number(String name, Object value) {
        return Shard.replicated(name, TorchTensors.of(Tensor.create((long) value)));
    }

    /**
     * Replaces the state by that of the checkpoint in a directory, see {@link #load(Checkpoint)}.
     *
     * @param directory a directory that all ranks see
     * @return the texts that were saved
     * @throws UsageException as {@link #load(Checkpoint)}
     * @throws DifferentModelsException as {@link #load(Checkpoint)}
     * @throws CheckpointException if there is no checkpoint, or as {@link #load(Checkpoint)}
     * @throws JcclException as {@link #load(Checkpoint)}
     */
    public Map<String, String> load(Path directory) {
        return load(Checkpoint.open(directory));
    }

    /**
     * Replaces parameters, buffers, state and options of the optimizer, and the random generator of
     * the CPU. Any number of ranks may have saved it, with a whole or a divided module. Ranks that
     * the earlier job did not have keep their random generator.
     *
     * @param checkpoint has all tensors of the module by name
     * @return the texts that were saved
     * @throws DifferentModelsException on all ranks, if they opened different checkpoints
     * @throws UsageException if the checkpoint is null or lacks a tensor of the module, the state
     *     has no options or is of another kind of optimizer, parameters of one unit have made
     *     different numbers of steps, or parameters of one group had different options. Part of the
     *     state may have been replaced then
     * @throws CheckpointException if the checkpoint cannot be read. Part of the state may have been
     *     replaced then
     * @throws JcclException if the group has failed
     */
    public Map<String, String> load(Checkpoint checkpoint) {
        if (checkpoint == null) {
            throw TorchTensors.usage("checkpoint is null");
        }
        TorchStreams.onCurrent(device, () -> replace(checkpoint));
        return checkpoint.metadata();
    }

    private void replace(Checkpoint checkpoint) {
        if (fsdp != null) {
            fsdp.load(checkpoint);
        } else {
            checkpoint.load(group, modelShards());
        }
        Map<Tensor, Map<String, Object>> states = new LinkedHashMap<>();
        updated().forEach(each -> states.put(each.tensor(), state(checkpoint, each)));
        OptimizerState.replace(optimizer, states, savedOptions(checkpoint));
        loadRandom(checkpoint);
    }

    /** The options of each group. One whose parameters were in no optimizer keeps its own. */
    private List<Map<String, double[]>> savedOptions(Checkpoint checkpoint) {
        List<Map<String, double[]>> options;
        try (InputArchive archive = OptimizerState.archive(optimizer)) {
            options = OptimizerState.options(archive, groups.size());
        }
        Set<String> names = checkpoint.names();
        if (!kinds(names).isEmpty() && names.stream().noneMatch(each -> each.startsWith(GROUP))) {
            throw TorchTensors.usage(
                    "the checkpoint has the state of an optimizer without its options, so its kind"
                            + " is not known");
        }
        for (int i = 0; i < groups.size(); i++) {
            List<String> saved =
                    names(i).stream().filter(each -> names.contains(GROUP + each)).toList();
            if (!saved.isEmpty()) {
                int group = (int) number(checkpoint, GROUP, saved);
                options.get(i)
                        .replaceAll((name, now) -> option(checkpoint, name, group, now.length));
            }
        }
        return options;
    }

    private static double[] option(Checkpoint checkpoint, String name, int group, int count) {
        String table = OPTIONS + name;
        if (!checkpoint.names().contains(table)) {
            throw TorchTensors.usage(
                    "the checkpoint lacks the option '"
                            + name
                            + "' of this optimizer; it is of another optimizer");
        }
        double[] rows = new double[Math.toIntExact(checkpoint.shape(table).get(0)) * count];
        try (org.jccl.Tensor all = org.jccl.Tensor.copyOf(rows)) {
            checkpoint.load(
                    List.of(Shard.replicated(table, all, rows.length / count, (long) count)));
            all.copyTo(rows);
        }
        return Arrays.copyOfRange(rows, group * count, (group + 1) * count);
    }

    private static Map<String, Object> state(Checkpoint checkpoint, Updated of) {
        Map<String, Object> state = new LinkedHashMap<>();
        Set<String> names = checkpoint.names();
        for (String kind : kinds(names)) {
            String prefix = OPTIMIZER + kind + ".";
            List<String> saved =
                    of.names().stream().filter(each -> names.contains(prefix + each)).toList();
            if (saved.isEmpty()) {
                continue;
            }
            if (checkpoint.dataType(prefix + saved.get(0)) == DataType.INT64) {
                state.put(kind, number(checkpoint, prefix, saved));
            } else {
                Tensor values = TorchTensors.keep(of.tensor().detach().clone());
                values.zero_();
                checkpoint.load(
                        of.shards(prefix, TorchTensors.of(values)).stream()
                                .filter(shard -> names.contains(shard.name()))
                                .toList());
                state.put(kind, values);
            }
        }
        return state;
    }

    /** The kinds of state, for instance {@code exp_avg}. */
    private static Set<String> kinds(Set<String> names) {
        Set<String> kinds = new TreeSet<>();
        for (String name : names) {
            if (name.startsWith(OPTIMIZER) && !name.startsWith(OPTIONS)) {
                kinds.add(name.split("\\.")[1]);
            }
        }
        return kinds;
    }

    private static long number(Checkpoint checkpoint, String prefix, List<String> parameters) {
        Set<Long> found = new TreeSet<>();
        for (String each : parameters) {
            try (org.jccl.Tensor one = org.jccl.Tensor.allocate(Device.CPU, DataType.INT64, 1)) {
                checkpoint.load(List.of(Shard.replicated(prefix + each, one)));
                found.add(one.copyTo(new long[1])[0]);
            }
        }
        if (found.size() != 1) {
            throw TorchTensors.usage(
                    "parameters "
                            + parameters
                            + " are in one unit or group of the optimizer, and the checkpoint has "
                            + found
                            + " for their '"
                            + prefix
                            + "'; load it into a whole module, with the same groups");
        }
        return found.iterator().next();
    }

    private void loadRandom(Checkpoint checkpoint) {
        String name = RANDOM + group.rank();
        if (checkpoint.names().contains(name)) {
            try (Generator generator = torch.getDefaultCPUGenerator()) {
                Tensor state = generator.get_state();
                org.jccl.Tensor bytes = TorchTensors.of(state);
                checkpoint.load(List.of(Shard.part(name, 0, bytes, bytes.count())));
                generator.set_state(state);
            }
        }
    }
}
