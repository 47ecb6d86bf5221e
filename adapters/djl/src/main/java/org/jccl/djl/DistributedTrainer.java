package org.jccl.djl;

import ai.djl.Model;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.GradientCollector;
import ai.djl.training.Trainer;
import ai.djl.training.TrainingConfig;
import ai.djl.util.Pair;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jccl.FailureContext;
import org.jccl.ProcessGroup;
import org.jccl.Tensor;
import org.jccl.UsageException;
import org.jccl.training.GradientReducer;
import org.jccl.training.GradientReducerBuilder;
import org.jccl.training.MissingGradientException;
import org.jccl.training.NamedTensor;

/**
 * DJL's trainer over the ranks of a group, like PyTorch's {@code DistributedDataParallel}. All
 * ranks begin with the parameters of rank 0. {@code step} averages the gradients before the
 * optimizer uses them, so the parameters have the same bits on all ranks. {@code EasyTrain.fit} and
 * a program's own loops run unchanged.
 *
 * <pre>{@code
 * try (Trainer trainer = new DistributedTrainer(model, config, world)) { // was model.newTrainer(config)
 *     trainer.initialize(new Shape(32, 784));
 *     EasyTrain.fit(trainer, epochs, dataset, null);
 * }
 * }</pre>
 *
 * <p>Every rank trains on the CPU, because DJL gives no address of the memory of other devices.
 * Give each rank its own samples with {@link ShardedSampler}. The result equals that of one process
 * with all samples if the loss is the mean over the samples and the batches have equal sizes on all
 * ranks. Losses and metrics are those of this rank's samples.
 *
 * <p>Frozen parameters take no part; all ranks must freeze the same ones. Each rank computes
 * running means and variances from its own samples. After each step, all ranks have those of rank
 * 0.
 *
 * <p>Not safe for use by several threads. DJL collects gradients on one thread of a process, so
 * ranks are processes. {@code initialize}, the first {@code newGradientCollector} and {@code step}
 * wait for the other ranks.
 */
public final class DistributedTrainer extends Trainer {

    private static final Set<Parameter.Type> STATISTICS =
            EnumSet.of(Parameter.Type.RUNNING_MEAN, Parameter.Type.RUNNING_VAR);

    private final ProcessGroup group;

    /**
     * Each parameter once, although blocks may share it, in the order and with the names of the
     * block.
     */
    private Map<Parameter, String> parameters;

    /** The parameters whose gradients the reducer has. */
    private List<Parameter> trained = List.of();

    private GradientReducer reducer;

    /**
     * Makes a trainer, like {@link Model#newTrainer}. The caller still owns the group.
     *
     * @param model with a block
     * @param config with one device, the CPU
     * @param group each of its ranks makes such a trainer
     * @throws UsageException if an argument is null, or the config names another device
     */
    public DistributedTrainer(Model model, TrainingConfig config, ProcessGroup group) {
        super(prepared(model, config, group), config);
        this.group = group;
    }

    private static Model prepared(Model model, TrainingConfig config, ProcessGroup group) {
        if (model == null || config == null || group == null) {
            throw new UsageException(
                    FailureContext.NONE,
                    (model == null ? "model" : config == null ? "config" : "group") + " is null");
        }
        if (config.getDevices().length != 1 || config.getDevices()[0].isGpu()) {
            throw new UsageException(
                    FailureContext.ofGroup(group.name(), group.rank()),
                    "a rank trains on the CPU only, not on "
                            + Arrays.toString(config.getDevices())
                            + ", and DJL does not give the address of memory there; "
                            + ArrayMemory.CPU_ONLY);
        }
        // Only newTrainer knows what the engine does to a model before it makes a trainer.
        DefaultTrainingConfig withoutListeners =
                new DefaultTrainingConfig(config.getLossFunction())
                        .optDevices(config.getDevices())
                        .optOptimizer(config.getOptimizer());
        config.getInitializers()
                .forEach(pair -> withoutListeners.optInitializer(pair.getKey(), pair.getValue()));
        model.newTrainer(withoutListeners).close();
        return model;
    }

    /**
     * Initializes the model, and gives all ranks the parameters of rank 0.
     *
     * @param shapes of the inputs
     * @throws UsageException if a parameter has a type that groups do not support, or is not on the
     *     CPU
     * @throws org.jccl.training.DifferentModelsException if the models of the ranks differ; all
     *     ranks throw it, and name the first parameter that differs
     * @throws org.jccl.JcclException if the parameters cannot be broadcast
     */
    @Override
    public void initialize(Shape... shapes) {
        super.initialize(shapes);
        begin();
    }

    /**
     * {@inheritDoc}
     *
     * <p>A model that was loaded and never {@linkplain #initialize initialized} gets the parameters
     * of rank 0 here, before the first batch.
     */
    @Override
    public GradientCollector newGradientCollector() {
        if (parameters == null) {
            begin();
        }
        return super.newGradientCollector();
    }

    private void begin() {
        Map<Parameter, String> all = named();
        try (NDManager scope = getManager().newSubManager()) {
            List<ArrayMemory> memory = new ArrayList<>();
            List<NamedTensor> tensors = new ArrayList<>();
            for (Map.Entry<Parameter, String> each : all.entrySet()) {
                NDArray array = each.getKey().getArray();
                ArrayMemory elements = ArrayMemory.of(scope, where(), each.getValue(), array);
                memory.add(elements);
                tensors.add(
                        NamedTensor.of(
                                each.getValue(), elements.tensor(), array.getShape().getShape()));
            }
            GradientReducer.broadcastModel(group, tensors, 0);
            memory.forEach(ArrayMemory::writeBack);
        }
        parameters = all;
    }

    private Map<Parameter, String> named() {
        Map<Parameter, String> all = new LinkedHashMap<>();
        for (Pair<String, Parameter> pair : getModel().getBlock().getParameters()) {
            all.putIfAbsent(pair.getValue(), pair.getKey());
        }
        return all;
    }

    /**
     * Averages the gradients over the ranks, and updates the parameters, as DJL does, with the
     * averages.
     *
     * @throws MissingGradientException if there was no backward pass, or the backward pass of a
     *     rank made no gradient for a parameter that is not frozen; all ranks throw it, and name
     *     the parameters and ranks
     * @throws UsageException if a gradient is sparse, no batch was begun before, or the model has
     *     other parameters than then
     * @throws org.jccl.training.DifferentModelsException if ranks have frozen different parameters
     * @throws org.jccl.JcclException if the gradients cannot be averaged
     */
    @Override
    public void step() {
        if (parameters == null) {
            throw new UsageException(
                    where(), "step() before a batch was trained; call initialize(...) first");
        }
        if (!named().keySet().equals(parameters.keySet())) {
            throw new UsageException(
                    where(),
                    "the parameters of the model have changed; call initialize(...) again");
        }
        register(parameters.keySet().stream().filter(Parameter::requiresGradient).toList());
        if (reducer != null) {
            try (NDManager scope = getManager().newSubManager()) {
                average(scope);
            }
        }
        super.step();
        shareStatistics();
    }

    /**
     * Makes a reducer for these parameters if there is none: the program may freeze some any time.
     */
    private void register(List<Parameter> now) {
        if (now.equals(trained)) {
            return;
        }
        closeReducer();
        trained = List.of(); // ranks that disagree fail in the next step, too
        if (now.isEmpty()) {
            return;
        }
        GradientReducerBuilder builder = GradientReducer.builder(group);
        for (Parameter parameter : now) {
            NDArray array = parameter.getArray();
            String name = parameters.get(parameter);
            builder.gradient(name, ArrayMemory.type(where(), name, array), array.size());
        }
        reducer = builder.build();
        trained = now;
    }

    /** Gradients are copied, because DJL may put them into other memory in each step. */
    private void average(NDManager scope) {
        List<Optional<ArrayMemory>> gradients = new ArrayList<>();
        for (Parameter parameter : trained) {
            String name = parameters.get(parameter);
            gradients.add(ArrayMemory.ofGradient(scope, where(), name, parameter.getArray()));
        }
        for (int i = trained.size() - 1; i >= 0; i--) {
            if (gradients.get(i).isPresent()) {
                reducer.bucketView(i).copyFrom(gradients.get(i).get().tensor());
                reducer.ready(i);
            }
        }
        try {
            reducer.finish();
        } catch (MissingGradientException e) {
            throw new MissingGradientException(
                    where(),
                    e.reason()
                            + "; in DJL: run backward() before step(), and freeze(true) parameters"
                            + " that the loss does not depend on",
                    e);
        }
        for (int i = 0; i < trained.size(); i++) {
            ArrayMemory gradient = gradients.get(i).orElseThrow();
            gradient.tensor().copyFrom(reducer.bucketView(i));
            gradient.writeBack();
        }
    }

    private void shareStatistics() {
        try (NDManager scope = getManager().newSubManager()) {
            List<ArrayMemory> memory = new ArrayList<>();
            parameters.forEach(
                    (parameter, name) -> {
                        if (STATISTICS.contains(parameter.getType())) {
                            NDArray array = parameter.getArray();
                            memory.add(ArrayMemory.of(scope, where(), name, array));
                        }
                    });
            if (!memory.isEmpty()) {
                List<Tensor> tensors = memory.stream().map(ArrayMemory::tensor).toList();
                GradientReducer.broadcastParameters(group, tensors, 0);
                memory.forEach(ArrayMemory::writeBack);
            }
        }
    }

    private FailureContext where() {
        return FailureContext.ofGroup(group.name(), group.rank());
    }

    private void closeReducer() {
        if (reducer != null) {
            reducer.close();
            reducer = null;
        }
    }

    /** Ends training on this rank; the group stays open. */
    @Override
    public void close() {
        closeReducer();
        super.close();
    }
}
