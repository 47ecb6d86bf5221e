package org.jccl.pytorch;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.ScalarOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorBase;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.jccl.FailureContext;
import org.jccl.JcclException;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.UsageException;
import org.jccl.training.Checkpoint;
import org.jccl.training.CheckpointException;
import org.jccl.training.DifferentModelsException;
import org.jccl.training.GradientReducer;
import org.jccl.training.NamedTensor;
import org.jccl.training.Shard;
import org.jccl.training.ShardedParameters;
import org.jccl.training.ShardedParametersBuilder;
import org.jccl.training.ShardedUnit;

/**
 * Trains a module that is divided over the ranks of a group, like the class of that name in
 * PyTorch. Each rank keeps a part of the parameters, of their gradients and of the optimizer's
 * state. The parameters of a unit, for example of a layer, are gathered while it computes.
 *
 * <pre>{@code
 * try (FullyShardedDataParallel fsdp = FullyShardedDataParallel.of(world, net, "first", "second")) {
 *     Adam optimizer = new Adam(fsdp.parameters(), new AdamOptions(1e-3));
 *     for (each batch) {
 *         optimizer.zero_grad();
 *         Tensor hidden = fsdp.run("first", () -> first.forward(images));
 *         Tensor output = fsdp.run("second", () -> second.forward(hidden));
 *         fsdp.backward(cross_entropy_loss(output, labels));
 *         fsdp.clipGradientNorm(1.0);
 *         optimizer.step();
 *     }
 * }
 * }</pre>
 *
 * <p>{@link #run} gathers a unit for the forward pass. The backward pass gathers it again when it
 * comes to the tensor that {@code run} returned, and releases it when its gradients are computed.
 * The next unit is gathered meanwhile. Outside of {@code run}, parameters of units have no
 * elements, so PyTorch rejects their shapes. If a tensor that shares memory with a parameter is
 * used outside, its elements are NaN.
 *
 * <p>Parameters that require no gradient and buffers stay whole on every rank. Ranks begin with
 * rank 0's elements. All ranks must call the same methods in the same order and run the same units
 * in the same order. Not thread-safe. CPU only. After a failure inside a backward pass, all methods
 * except {@link #close} throw that failure, and the program must continue from a checkpoint.
 */
public final class FullyShardedDataParallel implements AutoCloseable {

    private static final double CLIP_EPSILON = 1e-6; // PyTorch's

    /** A gradient that PyTorch adds up. It has done so when the same thread does something else. */
    private record Pending(ModuleUnit unit, int member) {}

    private final ProcessGroup group;
    private final Map<String, Tensor> untrained;
    private final List<ModuleUnit> units = new ArrayList<>();
    private final ShardedParameters model;
    private final int wholeUnits;

    private Pending pending;
    private Throwable failure;
    private boolean closed;

    private FullyShardedDataParallel(ProcessGroup group, UnitPlan plan) {
        this.group = group;
        this.untrained = plan.untrained();
        // The unit of all other modules may be in use while the others change.
        wholeUnits = Math.min(plan.units().size(), plan.units().containsKey("") ? 3 : 2);
        List<NamedTensor> all = new ArrayList<>(ModelTensors.named(untrained));
        ShardedParametersBuilder builder = ShardedParameters.builder(group).wholeUnits(wholeUnits);
        plan.units()
                .forEach(
                        (name, members) -> {
                            List<NamedTensor> named = ModelTensors.named(members);
                            builder.unit(name, named);
                            all.addAll(named);
                        });
        GradientReducer.broadcastModel(group, all, 0);
        model = builder.build();
        try (Tensor notANumber = plan.largestOf(Double.NaN)) {
            org.jccl.Tensor released = TorchTensors.of(notANumber);
            for (ShardedUnit unit : model.units()) {
                int index = units.size();
                units.add(
                        new ModuleUnit(
                                unit,
                                plan.units().get(unit.name()),
                                released,
                                this::arriving,
                                () -> beforeBackward(index)));
            }
        } catch (RuntimeException e) {
            close();
            throw e;
        }
    }

    /**
     * Divides a module for training. All ranks call it. Afterwards, the module's trained parameters
     * have no elements outside of {@link #run}.
     *
     * @param group whose ranks train; the caller still owns it
     * @param module the caller still owns it
     * @param units the names of the submodules that are gathered as a whole, in the order of the
     *     forward pass, for instance {@code "layers.0"}. An empty name is the unit of all other
     *     parameters. Memory for two of the largest unit is allocated for parameters and for
     *     gradients, or for three if one name is empty
     * @return an object that the caller must close
     * @throws DifferentModelsException if names, types or shapes differ between ranks; all ranks
     *     throw it and name the first that differs
     * @throws UsageException if an argument is null or closed, a name appears twice or has no
     *     trained parameter, a trained parameter is in no unit, has another type than the others,
     *     is not on the CPU or trained by another object, or {@link TorchTensors#of} rejects one
     * @throws JcclException if an operation failed
     */
    public static FullyShardedDataParallel of(ProcessGroup group, Module module, String... units) {
        if (group == null) {
            throw TorchTensors.usage("group is null");
        }
        return new FullyShardedDataParallel(group, UnitPlan.of(module, units));
    }

    /**
     * Runs a part of the forward pass with the parameters of a unit, and starts to gather the next
     * unit. May be nested with other units. All ranks must run the same units in the same order.
     * The optimizer must not step between two units of a forward pass.
     *
     * @param unit the name of the unit
     * @param forward computes with the parameters of the unit, on the calling thread. The gradient
     *     of every parameter that it uses must come through its result
     * @return the result of {@code forward}
     * @throws UsageException if there is no such unit, too many units are in use, the result is
     *     null or undefined or shares memory with a parameter of the unit, or this object is closed
     * @throws JcclException if the group has failed
     * @throws RuntimeException if {@code forward} throws one
     */
    public Tensor run(String unit, Supplier<Tensor> forward) {
        requireUsable();
        int index = indexOf(unit);
        if (forward == null) {
            throw usage("forward is null");
        }
        ModuleUnit used = units.get(index);
        gather(used);
        used.scopes++;
        Tensor output;
        try {
            prefetch(index + 1);
            output = forward.get();
        } finally {
            used.scopes--;
            used.releaseUnused();
        }
        TorchTensors.requireDefined("the result of unit '" + unit + "'", output);
        used.watch(output);
        return output;
    }

    private int indexOf(String unit) {
        for (int i = 0; i < units.size(); i++) {
            if (units.get(i).name().equals(unit)) {
                return i;
            }
        }
        throw usage("there is no unit '" + unit + "'");
    }

    private void gather(ModuleUnit unit) {
        // A unit that was gathered early and is not the next one may be out of date at its turn.
        units.stream().filter(each -> each != unit).forEach(ModuleUnit::releaseUnused);
        unit.gather();
    }

    private void prefetch(int index) {
        long whole = units.stream().filter(ModuleUnit::isGathered).count();
        if (index >= 0 && index < units.size() && whole < wholeUnits) {
            units.get(index).prefetch();
        }
    }

    /** Called when the backward pass comes to the result of a unit. */
    private void beforeBackward(int index) {
        inBackward(
                () -> {
                    ModuleUnit unit = units.get(index);
                    if (!unit.inBackward) {
                        gather(unit);
                        unit.inBackward = true;
                        prefetch(index - 1);
                    }
                });
    }

    /** Called when a gradient was computed, before PyTorch adds it to the parameter. */
    private void arriving(ModuleUnit unit, int member, TensorBase gradient) {
        try (gradient) {
            inBackward(
                    () -> {
                        unit.take(member, gradient);
                        pending = new Pending(unit, member);
                    });
        }
    }

    private void inBackward(Runnable action) {
        try {
            requireUsable();
            complete();
            action.run();
        } catch (RuntimeException | Error e) {
            failure = failure == null ? e : failure;
            throw e; // PyTorch ends the backward pass
        }
    }

    /** Reduces the unit of the last gradient if it has all of its gradients. */
    private void complete() {
        Pending last = pending;
        pending = null;
        if (last != null && last.unit.clear(last.member)) {
            last.unit.reduce();
        }
    }

    /**
     * Runs the backward pass of a loss and {@link #finish}.
     *
     * @param loss of this rank's batch, one number
     * @throws UsageException if the loss is null, closed or undefined, a parameter got a gradient
     *     twice since the last {@code finish} or without its unit's result, or as {@link #finish}
     * @throws JcclException if an operation failed, also inside the backward pass
     * @throws RuntimeException if PyTorch throws one
     */
    public void backward(Tensor loss) {
        TorchTensors.requireDefined("loss", loss);
        requireBetweenScopes();
        try {
            loss.backward();
        } catch (RuntimeException e) {
            throwFailure(); // PyTorch only passes the text of the exception
            if (units.stream().anyMatch(ModuleUnit::isInPass)) {
                failure = e; // other ranks may have some gradients already
            }
            throw e;
        }
        finish();
    }

    /**
     * Ends a backward pass of the program: waits for this rank's part of the averages of the
     * gradients, and adds it to the gradients of {@link #parameters}. Several passes before a step
     * of the optimizer accumulate; each of them sends its gradients. A parameter without a gradient
     * counts as zero.
     *
     * @throws UsageException within {@link #run}, or if this object is closed
     * @throws JcclException if an operation failed
     */
    public void finish() {
        requireBetweenScopes();
        complete();
        for (int i = units.size() - 1; i >= 0; i--) {
            units.get(i).reduce();
        }
        model.step(
                (unit, parameters, gradients) ->
                        units.get(indexOf(unit.name())).endPass(gradients));
    }

    /**
     * Scales the gradients so that their norm over all parameters and ranks is at most a maximum,
     * like {@code clip_grad_norm_}. All ranks call it, between {@link #backward} and the step of
     * the optimizer.
     *
     * @param maximum of the norm
     * @return the norm before, the same on all ranks. If it is not finite, neither are the
     *     gradients afterwards, as in PyTorch
     * @throws UsageException if the maximum is not greater than zero, there is no gradient, within
     *     {@link #run}, or if this object is closed
     * @throws JcclException if the group has failed
     */
    public double clipGradientNorm(double maximum) {
        requireBetweenScopes();
        if (!(maximum > 0)) {
            throw usage("the maximum of the norm is " + maximum);
        }
        double squares = 0;
        for (ModuleUnit unit : units) {
            try (Tensor gradient = unit.shard().grad()) {
                if (!gradient.defined()) {
                    throw usage("there is no gradient; call backward() first");
                }
                try (Scalar two = new Scalar(2);
                        ScalarOptional order = new ScalarOptional(two);
                        Tensor norm = gradient.norm(order, ScalarType.Double)) {
                    squares += Math.pow(norm.item_double(), 2);
                }
            }
        }
        double norm = Math.sqrt(sumOfRanks(squares));
        double factor = maximum / (norm + CLIP_EPSILON);
        if (!(factor >= 1)) {
            try (Scalar scale = new Scalar(factor)) {
                units.forEach(unit -> unit.shard().grad().mul_(scale));
            }
        }
        return norm;
    }

    private double sumOfRanks(double value) {
        try (org.jccl.Tensor sum = org.jccl.Tensor.copyOf(new double[] {value})) {
            group.allReduce(sum, ReduceOp.SUM).await();
            return sum.copyTo(new double[1])[0];
        }
    }

    /**
     * Returns what the optimizer updates: this rank's part of each unit, a tensor of one dimension
     * that may have no elements. An optimizer that treats elements alike, such as Adam, AdamW and
     * SGD, computes the same as with whole parameters.
     *
     * @return one leaf for each unit, in their order; valid until {@link #close}
     * @throws UsageException if this object is closed
     */
    public TensorVector parameters() {
        requireUsable();
        return new TensorVector(units.stream().map(ModuleUnit::shard).toArray(Tensor[]::new));
    }

    /**
     * Returns this rank's parts of the model, for {@link Checkpoint#save}: its parts of the trained
     * parameters by their names in the module, and the other parameters and buffers as replicated.
     *
     * @return the parts
     * @throws UsageException if this object is closed
     */
    public List<Shard> shards() {
        requireUsable();
        List<Shard> shards = new ArrayList<>(model.shards());
        shards.addAll(replicated());
        return shards;
    }

    private List<Shard> replicated() {
        return ModelTensors.named(untrained).stream()
                .map(each -> new Shard(each.name(), each.shape(), 0, each.tensor(), true))
                .toList();
    }

    /**
     * Replaces the model by that of a checkpoint, which any number of ranks may have saved, also
     * from a module that was not divided. All ranks call it.
     *
     * @param checkpoint has all tensors of the module by name
     * @throws DifferentModelsException if ranks opened different checkpoints
     * @throws CheckpointException if the checkpoint cannot be read
     * @throws UsageException if the checkpoint is null or lacks a tensor, within {@link #run}, or
     *     if this object is closed
     * @throws JcclException if the group has failed
     */
    public void load(Checkpoint checkpoint) {
        requireBetweenScopes();
        units.forEach(ModuleUnit::releaseUnused);
        model.load(checkpoint);
        checkpoint.load(replicated());
    }

    /**
     * Copies a rank's buffers and untrained parameters to all ranks, for instance before a save or
     * an evaluation, because the statistics of a batch normalization differ between ranks. All
     * ranks call it.
     *
     * @param root rank of the group
     * @throws UsageException if there is no such rank, or this object is closed
     * @throws JcclException if an operation failed
     */
    public void broadcast(int root) {
        requireUsable();
        List<org.jccl.Tensor> tensors =
                ModelTensors.named(untrained).stream().map(NamedTensor::tensor).toList();
        if (!tensors.isEmpty()) {
            GradientReducer.broadcastParameters(group, tensors, root);
        }
    }

    List<ModuleUnit> units() {
        return units;
    }

    private void requireUsable() {
        if (closed) {
            throw usage("this FullyShardedDataParallel is closed");
        }
        throwFailure();
    }

    private void requireBetweenScopes() {
        requireUsable();
        for (ModuleUnit unit : units) {
            if (unit.scopes > 0) {
                throw usage("run() of unit '" + unit.name() + "' has not ended");
            }
        }
    }

    private void throwFailure() {
        if (failure instanceof Error e) {
            throw e;
        }
        if (failure != null) {
            throw (RuntimeException) failure;
        }
    }

    private UsageException usage(String message) {
        return new UsageException(FailureContext.ofGroup(group.name(), group.rank()), message);
    }

    /**
     * Frees this rank's parts. The module's trained parameters and those of {@link #parameters}
     * have no elements from now on. Idempotent.
     *
     * @throws JcclException as {@link ShardedParameters#close}
     */
    @Override
    public void close() {
        if (!closed) {
            closed = true;
            units.forEach(ModuleUnit::close);
            model.close();
        }
    }

    @Override
    public String toString() {
        return units.size() + " units on rank " + group.rank() + " of " + group.size();
    }
}
