package org.jccl.pytorch;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.FailureContext;
import org.jccl.JcclException;
import org.jccl.ProcessGroup;
import org.jccl.Stream;
import org.jccl.UsageException;
import org.jccl.training.DifferentModelsException;
import org.jccl.training.GradientReducer;
import org.jccl.training.GradientReducerBuilder;
import org.jccl.training.MissingGradientException;
import org.jccl.training.NamedTensor;

/**
 * Trains a module on all ranks of a group, each with its own part of the data, like the class of
 * that name in PyTorch. Ranks begin with rank 0's parameters and buffers. Gradients are averaged
 * while the backward pass runs.
 *
 * <pre>{@code
 * try (DistributedDataParallel ddp = DistributedDataParallel.of(world, module)) {
 *     SGD optimizer = new SGD(module.parameters(), new SGDOptions(0.1));
 *     for (each batch) {
 *         optimizer.zero_grad();
 *         Tensor loss = cross_entropy_loss(module.forward(images), labels);
 *         ddp.backward(loss);
 *         optimizer.step();
 *     }
 * }
 * }</pre>
 *
 * <p>The program uses the module as before. The gradients are in the buckets of a {@link
 * GradientReducer}, whose rules hold: all ranks must call the same methods in the same order, and
 * use the group for other operations at the same points. The trained parameters are fixed at the
 * beginning. Gradients must be dense. The program must not call {@code torch.autograd.grad} for the
 * parameters of such a module.
 *
 * <p>A backward pass may run in any thread, or on CUDA in PyTorch's own threads. The thread that
 * runs the loop may call the other methods while no backward pass runs. After a failure inside a
 * backward pass, all methods except {@link #close} throw that failure, because other ranks may have
 * got some of the gradients.
 */
public final class DistributedDataParallel implements AutoCloseable {

    /**
     * A gradient that PyTorch is adding up. It is complete when the same thread does something
     * else.
     */
    private record Pending(Thread thread, int index, Stream stream) {}

    private final ProcessGroup group;
    private final Map<String, Tensor> model;
    private final List<Parameter> parameters = new ArrayList<>();
    private final Map<String, Tensor> untrained = new LinkedHashMap<>();
    private final Device device;
    private final GradientReducer reducer;

    private final ReentrantLock lock = new ReentrantLock();

    // Guarded by the lock.
    private final GradientBuckets buckets;
    private final List<Pending> pending = new ArrayList<>();
    private int accumulating;
    private Throwable failure;
    private boolean closed;

    private DistributedDataParallel(
            ProcessGroup group,
            Map<String, Tensor> tensors,
            Consumer<GradientReducerBuilder> options) {
        this.group = group;
        this.model = tensors;
        List<NamedTensor> named = ModelTensors.named(model);
        GradientReducerBuilder builder = GradientReducer.builder(group);
        for (NamedTensor each : named) {
            Tensor tensor = model.get(each.name());
            if (tensor.requires_grad()) {
                DataType type = each.tensor().dataType();
                parameters.add(new Parameter(each.name(), tensor, type));
                builder.gradient(each.name(), type, each.tensor().count());
            } else {
                untrained.put(each.name(), tensor);
            }
        }
        device = ModelTensors.commonDevice(group, named);
        buckets = new GradientBuckets(parameters);
        options.accept(builder);
        builder.device(device).bucketMemory(buckets).onRebuild(this::placeGradients);
        locked(() -> GradientReducer.broadcastModel(group, named, 0));
        reducer = builder.build();
        placeGradients();
        try {
            for (int i = 0; i < parameters.size(); i++) {
                int index = i;
                parameters.get(i).hook(() -> arriving(index));
            }
        } catch (RuntimeException e) {
            close();
            throw e;
        }
    }

    /**
     * Prepares a module for training. All ranks call it.
     *
     * @param group whose ranks train; the caller still owns it
     * @param module the caller still owns it; parameters that require a gradient are trained,
     *     others and buffers are only copied from rank 0
     * @return an object that averages the gradients, which the caller must close
     * @throws DifferentModelsException if names, types or shapes of the module's tensors differ
     *     between ranks; all ranks throw it and name the first that differs
     * @throws UsageException if an argument is null or closed, no parameter is trained, another
     *     object of this class trains a parameter, or {@link TorchTensors#of} rejects one
     * @throws JcclException if an operation failed
     */
    public static DistributedDataParallel of(ProcessGroup group, Module module) {
        return of(group, module, options -> {});
    }

    /**
     * Prepares a module for training, with options. All ranks call it.
     *
     * @param group whose ranks train; the caller still owns it
     * @param module as in {@link #of(ProcessGroup, Module)}
     * @param options sets options of the reducer, for instance {@code reducer ->
     *     reducer.unusedGradients(true)}, the same on all ranks. It must not set the memory, the
     *     device or the action when buckets are made again
     * @return an object that averages the gradients, which the caller must close
     * @throws DifferentModelsException as {@link #of(ProcessGroup, Module)}, or if options differ
     * @throws UsageException as {@link #of(ProcessGroup, Module)}, and as the options' methods
     * @throws JcclException if an operation failed
     */
    public static DistributedDataParallel of(
            ProcessGroup group, Module module, Consumer<GradientReducerBuilder> options) {
        return make(group, ModelTensors.of(module), options);
    }

    /**
     * Prepares a model that is no {@link Module} for training. All ranks call it.
     *
     * @param group whose ranks train; the caller still owns it
     * @param tensors parameters and whatever else belongs to the model by name, in the same order
     *     on all ranks; those that require a gradient are trained
     * @param options as in {@link #of(ProcessGroup, Module, Consumer)}
     * @return an object that averages the gradients, which the caller must close
     * @throws DifferentModelsException as {@link #of(ProcessGroup, Module, Consumer)}
     * @throws UsageException as {@link #of(ProcessGroup, Module, Consumer)}, and if a tensor
     *     appears twice
     * @throws JcclException if an operation failed
     */
    public static DistributedDataParallel of(
            ProcessGroup group,
            Map<String, Tensor> tensors,
            Consumer<GradientReducerBuilder> options) {
        return make(group, ModelTensors.of(tensors), options);
    }

    private static DistributedDataParallel make(
            ProcessGroup group,
            Map<String, Tensor> tensors,
            Consumer<GradientReducerBuilder> options) {
        if (group == null || options == null) {
            throw TorchTensors.usage((group == null ? "group" : "options") + " is null");
        }
        return new DistributedDataParallel(group, tensors, options);
    }

    private void placeGradients() {
        buckets.place(reducer);
    }

    /** Called when a gradient was computed, before PyTorch adds it up in this thread. */
    private void arriving(int index) {
        locked(
                () -> {
                    try {
                        requireUsable();
                        complete(Thread.currentThread());
                        Stream stream = device.isCpu() ? null : Stream.current(device);
                        pending.add(new Pending(Thread.currentThread(), index, stream));
                    } catch (RuntimeException | Error e) {
                        failure = e;
                        throw e; // PyTorch ends the backward pass
                    }
                });
    }

    /** Passes complete gradients to the reducer: those of a thread, or all of them for null. */
    private void complete(Thread thread) {
        for (int i = 0; i < pending.size(); i++) {
            if (thread == null || pending.get(i).thread == thread) {
                handOver(pending.remove(i--));
            }
        }
    }

    private void handOver(Pending gradient) {
        if (gradient.stream != null) {
            TorchStreams.currentWaitsFor(gradient.stream);
        }
        Parameter parameter = parameters.get(gradient.index);
        if (parameter.moveGradient()) {
            parameter.arrived = accumulating == 0;
            reducer.ready(gradient.index);
        }
    }

    /**
     * Runs the backward pass of a loss and {@link #finish}.
     *
     * @param loss of this rank's batch, one number
     * @throws UsageException if the loss is null, closed or undefined, a parameter got a gradient
     *     twice since the last {@code finish}, or this object is closed
     * @throws MissingGradientException as {@link #finish}
     * @throws JcclException if an operation failed, also inside the backward pass
     * @throws RuntimeException if PyTorch throws one
     */
    public void backward(Tensor loss) {
        TorchTensors.requireDefined("loss", loss);
        locked(this::requireUsable);
        try {
            loss.backward();
        } catch (RuntimeException e) {
            locked(
                    () -> {
                        throwFailure(); // PyTorch only passes the text of the exception
                        if (isInStep()) {
                            failure = e; // other ranks may have some gradients already
                        }
                    });
            throw e;
        }
        finish();
    }

    private boolean isInStep() {
        return !pending.isEmpty() || parameters.stream().anyMatch(parameter -> parameter.arrived);
    }

    /**
     * Ends a step after a backward pass of the program. On return, all gradients are averages, on
     * CUDA in the order of PyTorch's current stream. Within {@link #noSync}, gradients are only
     * accumulated.
     *
     * @throws MissingGradientException if parameters got no gradient and may not be unused, as in
     *     {@link GradientReducer#finish}
     * @throws UsageException if a parameter became trainable since the beginning, or this object is
     *     closed
     * @throws JcclException if an operation failed
     */
    public void finish() {
        locked(
                () -> {
                    requireUsable();
                    complete(null);
                    if (accumulating == 0) {
                        average();
                    }
                });
    }

    private void average() {
        requireSameTrained();
        Tensor[] earlier = new Tensor[parameters.size()];
        try {
            for (int i = 0; i < earlier.length; i++) {
                if (!parameters.get(i).arrived) {
                    earlier[i] = parameters.get(i).takeEarlier();
                }
            }
            reducer.finish();
            for (int i = 0; i < earlier.length; i++) {
                if (!parameters.get(i).arrived && reducer.wasUsed(i)) {
                    parameters.get(i).putGradient();
                } else if (earlier[i] != null) {
                    parameters.get(i).putEarlier(earlier[i]);
                }
            }
        } finally {
            parameters.forEach(parameter -> parameter.arrived = false);
            for (Tensor each : earlier) {
                if (each != null) {
                    each.close();
                }
            }
        }
    }

    private void requireSameTrained() {
        untrained.forEach(
                (name, tensor) -> {
                    if (tensor.requires_grad()) {
                        throw usage(
                                "parameter '"
                                        + name
                                        + "' requires a gradient now, and did not when this was"
                                        + " made; close it and make a new one");
                    }
                });
    }

    /**
     * Stops averaging until the result is closed, as {@link GradientReducer#noSync}: gradients of
     * several backward passes add up, and the first pass after it averages them.
     *
     * @return a scope, which the caller must close before the last of the batches; may be nested
     * @throws UsageException within a step, or if this object is closed
     */
    public GradientReducer.NoSync noSync() {
        GradientReducer.NoSync[] scope = new GradientReducer.NoSync[1];
        locked(
                () -> {
                    requireUsable();
                    complete(null);
                    scope[0] = reducer.noSync();
                    accumulating++;
                });
        return () ->
                locked(
                        () -> {
                            if (scope[0] != null && !closed) {
                                complete(null);
                                accumulating--;
                                scope[0].close();
                                scope[0] = null;
                            }
                        });
    }

    /**
     * For ranks with different numbers of batches, as {@link GradientReducer#join}. Takes part in
     * the steps of the others until all ranks have joined, and then copies the model of a rank with
     * the most steps. Blocks. Each rank calls it when it has no more batches.
     *
     * @throws UsageException if {@code unevenInputs} was not among the options, within a step, or
     *     if this object is closed
     * @throws MissingGradientException as {@link #finish}
     * @throws JcclException if an operation failed
     */
    public void join() {
        locked(
                () -> {
                    requireUsable();
                    complete(null);
                    broadcastFrom(reducer.join());
                });
    }

    /**
     * Copies a rank's parameters and buffers to all ranks, for instance before an evaluation,
     * because the statistics of a batch normalization differ between ranks. All ranks call it.
     *
     * @param root rank of the group
     * @throws UsageException if there is no such rank, or this object is closed
     * @throws JcclException if an operation failed
     */
    public void broadcast(int root) {
        locked(
                () -> {
                    requireUsable();
                    broadcastFrom(root);
                });
    }

    private void broadcastFrom(int root) {
        List<org.jccl.Tensor> tensors =
                ModelTensors.named(model).stream().map(NamedTensor::tensor).toList();
        GradientReducer.broadcastParameters(group, tensors, root);
    }

    /** Runs an action under the lock, and on CUDA with PyTorch's current stream. */
    private void locked(Runnable action) {
        lock.lock();
        try {
            TorchStreams.onCurrent(device, action);
        } finally {
            lock.unlock();
        }
    }

    private void requireUsable() {
        if (closed) {
            throw usage("this DistributedDataParallel is closed");
        }
        throwFailure();
    }

    private void throwFailure() {
        if (failure instanceof RuntimeException e) {
            throw e;
        }
        if (failure instanceof Error e) {
            throw e;
        }
    }

    private UsageException usage(String message) {
        return new UsageException(FailureContext.ofGroup(group.name(), group.rank()), message);
    }

    /**
     * Removes the hooks. The module and its gradients are unchanged. Idempotent.
     *
     * @throws JcclException as {@link GradientReducer#close}
     */
    @Override
    public void close() {
        locked(
                () -> {
                    if (closed) {
                        return;
                    }
                    closed = true;
                    pending.clear();
                    parameters.forEach(Parameter::close);
                    reducer.close();
                    buckets.close();
                });
    }

    /** For instance {@code 161 gradients in 5 buckets on cpu}. */
    @Override
    public String toString() {
        return reducer.toString();
    }
}
