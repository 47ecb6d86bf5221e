package org.jccl.internal.api;

import java.util.List;
import java.util.function.Consumer;
import java.util.function.IntFunction;
import org.jccl.Device;
import org.jccl.ReduceOp;
import org.jccl.SyncCollectives;
import org.jccl.Tensor;
import org.jccl.UsageException;
import org.jccl.internal.engine.Engine;
import org.jccl.internal.group.Group;
import org.jccl.internal.operation.Operation;

/** The synchronous operations of a group. */
public final class DefaultSyncCollectives implements SyncCollectives {

    /** About the maximum length of a Java array. */
    private static final int MAX_ARRAY = Integer.MAX_VALUE - 8;

    private final Group group;
    private final Arguments arguments;
    private final long timeoutNanos;

    /**
     * Creates them.
     *
     * @param timeoutNanos how long each may take, or 0 for the timeout of the group
     */
    DefaultSyncCollectives(Group group, Arguments arguments, long timeoutNanos) {
        this.group = group;
        this.arguments = arguments;
        this.timeoutNanos = timeoutNanos;
    }

    private Operation borrow(Engine engine) {
        Operation operation = engine.borrow();
        operation.timeoutNanos = timeoutNanos;
        return operation;
    }

    @Override
    public void broadcast(Tensor tensor, int root) {
        Engine engine = arguments.engineOf(tensor);
        engine.run(arguments.broadcast(borrow(engine), tensor, root));
    }

    @Override
    public void allReduce(Tensor tensor, ReduceOp op) {
        Engine engine = arguments.engineOf(tensor);
        engine.run(arguments.allReduce(borrow(engine), engine, tensor, op));
    }

    @Override
    public void allReduce(float[] values, ReduceOp op) {
        throughTensor(values, copy -> allReduce(copy, op));
    }

    @Override
    public void allReduce(double[] values, ReduceOp op) {
        throughTensor(values, copy -> allReduce(copy, op));
    }

    @Override
    public void allReduce(long[] values, ReduceOp op) {
        throughTensor(values, copy -> allReduce(copy, op));
    }

    @Override
    public void allReduce(int[] values, ReduceOp op) {
        throughTensor(values, copy -> allReduce(copy, op));
    }

    @Override
    public void broadcast(float[] values, int root) {
        throughTensor(values, copy -> broadcast(copy, root));
    }

    @Override
    public void broadcast(double[] values, int root) {
        throughTensor(values, copy -> broadcast(copy, root));
    }

    @Override
    public void broadcast(long[] values, int root) {
        throughTensor(values, copy -> broadcast(copy, root));
    }

    @Override
    public void broadcast(int[] values, int root) {
        throughTensor(values, copy -> broadcast(copy, root));
    }

    @Override
    public void broadcast(byte[] values, int root) {
        throughTensor(values, copy -> broadcast(copy, root));
    }

    @Override
    public float[] allGather(float[] values) {
        return gathered(values, float[]::new);
    }

    @Override
    public double[] allGather(double[] values) {
        return gathered(values, double[]::new);
    }

    @Override
    public long[] allGather(long[] values) {
        return gathered(values, long[]::new);
    }

    @Override
    public int[] allGather(int[] values) {
        return gathered(values, int[]::new);
    }

    private void throughTensor(Object array, Consumer<Tensor> operation) {
        try (Tensor copy = copy(array)) {
            operation.accept(copy);
            copy.copyTo(array);
        }
    }

    private <A> A gathered(A values, IntFunction<A> array) {
        try (Tensor input = copy(values)) {
            long count = Math.multiplyExact(input.count(), (long) group.size());
            if (count > MAX_ARRAY) {
                throw new UsageException(
                        group.context(),
                        "allGather of %s elements from each of %s ranks is more than a Java array holds; use tensors"
                                .formatted(input.count(), group.size()));
            }
            try (Tensor output = Tensor.allocate(input.device(), input.dataType(), count)) {
                allGatherSingle(output, input);
                return output.copyTo(array.apply((int) count));
            }
        }
    }

    /** Copies an array to memory that the group can use, that of the host if possible. */
    private Tensor copy(Object array) {
        Tensor copy = Tensor.copyOf(array);
        Device first = group.devices().get(0);
        if (first.isCpu() || group.devices().contains(Device.CPU)) {
            return copy;
        }
        try (copy) {
            Tensor onDevice = Tensor.allocate(first, copy.dataType(), copy.count());
            try {
                return onDevice.copyFrom(array);
            } catch (RuntimeException | Error e) {
                onDevice.close();
                throw e;
            }
        }
    }

    @Override
    public void reduce(Tensor tensor, int root, ReduceOp op) {
        Engine engine = arguments.engineOf(tensor);
        engine.run(arguments.reduce(borrow(engine), engine, tensor, root, op));
    }

    @Override
    public void allGather(List<Tensor> outputs, Tensor input) {
        Engine engine = arguments.engineOf(input);
        engine.run(arguments.allGather(borrow(engine), engine, outputs, input));
    }

    @Override
    public void allGatherSingle(Tensor output, Tensor input) {
        Engine engine = arguments.engineOf(input);
        engine.run(arguments.allGatherSingle(borrow(engine), output, input));
    }

    @Override
    public void gather(List<Tensor> outputs, Tensor input, int root) {
        Engine engine = arguments.engineOf(input);
        engine.run(arguments.gather(borrow(engine), outputs, input, root));
    }

    @Override
    public void scatter(Tensor output, List<Tensor> inputs, int root) {
        Engine engine = arguments.engineOf(output);
        engine.run(arguments.scatter(borrow(engine), output, inputs, root));
    }

    @Override
    public void reduceScatter(Tensor output, List<Tensor> inputs, ReduceOp op) {
        Engine engine = arguments.engineOf(output);
        engine.run(arguments.reduceScatter(borrow(engine), engine, output, inputs, op));
    }

    @Override
    public void reduceScatterSingle(Tensor output, Tensor input, ReduceOp op) {
        Engine engine = arguments.engineOf(output);
        engine.run(arguments.reduceScatterSingle(borrow(engine), engine, output, input, op));
    }

    @Override
    public void allToAll(List<Tensor> outputs, List<Tensor> inputs) {
        List<Tensor> given = arguments.allToAllInputs(inputs);
        Engine engine = arguments.engineOf(given.get(0));
        engine.run(arguments.allToAll(borrow(engine), outputs, given));
    }

    @Override
    public void allToAllSingle(Tensor output, Tensor input) {
        Engine engine = arguments.engineOf(input);
        engine.run(arguments.allToAllSingle(borrow(engine), output, input));
    }

    @Override
    public void allToAllSingle(
            Tensor output, Tensor input, long[] outputSplits, long[] inputSplits) {
        Engine engine = arguments.engineOf(input);
        engine.run(
                arguments.allToAllSingle(borrow(engine), output, input, outputSplits, inputSplits));
    }

    @Override
    public void send(Tensor tensor, int peer, int tag) {
        Engine engine = arguments.engineOf(tensor);
        engine.run(arguments.send(borrow(engine), engine, tensor, peer, tag));
    }

    @Override
    public void recv(Tensor tensor, int peer, int tag) {
        Engine engine = arguments.engineOf(tensor);
        engine.run(arguments.recv(borrow(engine), engine, tensor, peer, tag));
    }

    @Override
    public int recvAnySource(Tensor tensor, int tag) {
        Engine engine = arguments.engineOf(tensor);
        return engine.run(arguments.recvAnySource(borrow(engine), engine, tensor, tag));
    }

    @Override
    public void barrier() {
        Engine engine = group.defaultEngine();
        engine.run(arguments.barrier(borrow(engine)));
    }
}
