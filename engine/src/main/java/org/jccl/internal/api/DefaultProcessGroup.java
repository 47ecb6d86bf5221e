package org.jccl.internal.api;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.IntFunction;
import org.jccl.BackendOptions;
import org.jccl.Batch;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.JcclException;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.SyncCollectives;
import org.jccl.Tensor;
import org.jccl.UsageException;
import org.jccl.Work;
import org.jccl.internal.backend.VirtualThreads;
import org.jccl.internal.checks.Lists;
import org.jccl.internal.checks.Require;
import org.jccl.internal.engine.Engine;
import org.jccl.internal.engine.Timeouts;
import org.jccl.internal.group.Group;
import org.jccl.internal.memory.Leaks;
import org.jccl.internal.memory.Memory;
import org.jccl.internal.operation.Operation;
import org.jccl.internal.tensor.NativeTensor;

/** A process group over a {@link Group}: checks arguments, and issues operations on its engines. */
public final class DefaultProcessGroup implements ProcessGroup {

    private final Group group;
    private final Operations operations;
    private final SyncCollectives sync;

    /** Wraps a connected group, which it closes. */
    public DefaultProcessGroup(Group group) {
        this.group = group;
        this.operations = new Operations(group, Engine::newOperation, 0);
        this.sync = new Sync(group, 0);
        Leaks.GROUPS.watch(this, group::isClosed, toString());
    }

    @Override
    public int rank() {
        return group.context().rank();
    }

    @Override
    public int size() {
        return group.size();
    }

    @Override
    public String name() {
        return group.context().group();
    }

    @Override
    public List<Integer> worldRanks() {
        return group.worldRanks();
    }

    @Override
    public Optional<String> backend(String deviceType) {
        return group.backend(deviceType);
    }

    @Override
    public boolean scalesAverages(String deviceType) {
        return group.scalesAverages(deviceType);
    }

    @Override
    public List<Device> devices() {
        return group.devices();
    }

    @Override
    public SyncCollectives sync() {
        return sync;
    }

    @Override
    public SyncCollectives sync(Duration timeout) {
        long nanos = Timeouts.ofOperation(timeout, group.context());
        return new Sync(group, nanos);
    }

    @Override
    public Work broadcast(Tensor tensor, int root) {
        return operations.broadcast(tensor, root).submit();
    }

    @Override
    public Work broadcast(List<Tensor> tensors, int root) {
        return submit(operations.broadcast(tensors, root));
    }

    @Override
    public Work allReduce(Tensor tensor, ReduceOp op) {
        return operations.allReduce(tensor, op).submit();
    }

    @Override
    public Work allReduce(List<Tensor> tensors, ReduceOp op) {
        return submit(operations.allReduce(tensors, op));
    }

    @Override
    public Work reduce(Tensor tensor, int root, ReduceOp op) {
        return operations.reduce(tensor, root, op).submit();
    }

    @Override
    public Work allGather(List<Tensor> outputs, Tensor input) {
        return operations.allGather(outputs, input).submit();
    }

    @Override
    public Work allGatherSingle(Tensor output, Tensor input) {
        return operations.allGatherSingle(output, input).submit();
    }

    @Override
    public Work allGatherSingle(List<Tensor> outputs, List<Tensor> inputs) {
        return submit(operations.allGatherSingle(outputs, inputs));
    }

    @Override
    public Work gather(List<Tensor> outputs, Tensor input, int root) {
        return operations.gather(outputs, input, root).submit();
    }

    @Override
    public Work scatter(Tensor output, List<Tensor> inputs, int root) {
        return operations.scatter(output, inputs, root).submit();
    }

    @Override
    public Work reduceScatter(Tensor output, List<Tensor> inputs, ReduceOp op) {
        return operations.reduceScatter(output, inputs, op).submit();
    }

    @Override
    public Work reduceScatterSingle(Tensor output, Tensor input, ReduceOp op) {
        return operations.reduceScatterSingle(output, input, op).submit();
    }

    @Override
    public Work reduceScatterSingle(List<Tensor> outputs, List<Tensor> inputs, ReduceOp op) {
        return submit(operations.reduceScatterSingle(outputs, inputs, op));
    }

    @Override
    public Work allToAll(List<Tensor> outputs, List<Tensor> inputs) {
        return operations.allToAll(outputs, inputs).submit();
    }

    @Override
    public Work allToAllSingle(Tensor output, Tensor input) {
        return operations.allToAllSingle(output, input).submit();
    }

    @Override
    public Work allToAllSingle(
            Tensor output, Tensor input, long[] outputSplits, long[] inputSplits) {
        return operations.allToAllSingle(output, input, outputSplits, inputSplits).submit();
    }

    @Override
    public Work send(Tensor tensor, int peer, int tag) {
        return operations.send(tensor, peer, tag).submit();
    }

    @Override
    public Work recv(Tensor tensor, int peer, int tag) {
        return operations.recv(tensor, peer, tag).submit();
    }

    @Override
    public Work recvAnySource(Tensor tensor, int tag) {
        return operations.recvAnySource(tensor, tag).submit();
    }

    @Override
    public Work barrier() {
        return operations.barrier().submit();
    }

    /**
     * Issues operations together. They end in this order on the stream of the group, and a failure
     * ends the group, so the last work stands for all.
     */
    private static Work submit(List<Operation> operations) {
        List<Work> works = operations.get(0).runner.submitBatch(operations);
        return works.get(works.size() - 1);
    }

    @Override
    public void monitoredBarrier(Duration timeout, boolean waitAllRanks) {
        group.monitoredBarrier(timeout, waitAllRanks);
    }

    @Override
    public void register(Tensor tensor) {
        Require.nonNull(tensor, "tensor");
        Engine engine = operations.engineOf(tensor);
        Memory memory = ((NativeTensor) tensor).memory();
        if (!memory.acquire()) {
            throw new UsageException(group.context(), "register: " + tensor + " is closed");
        }
        try {
            engine.inside(
                    communicator -> {
                        communicator.register(
                                tensor.address(), tensor.count() * tensor.dataType().size());
                        return null;
                    });
        } catch (JcclException e) {
            throw e.at(group.context());
        } finally {
            memory.release();
        }
    }

    @Override
    public Tensor allocate(Device device, DataType dataType, long count) {
        Require.nonNull(device, "device");
        Require.nonNull(dataType, "dataType");
        Engine engine = group.engineOf(device);
        if (count > 0) {
            try {
                Optional<Tensor> own =
                        engine.inside(
                                communicator -> communicator.allocate(device, dataType, count));
                if (own.isPresent()) {
                    return own.get();
                }
            } catch (JcclException e) {
                throw e.at(group.context());
            }
        }
        return Tensor.allocate(device, dataType, count);
    }

    @Override
    public Batch batch() {
        return new DefaultBatch(group);
    }

    @Override
    public Optional<ProcessGroup> newGroup(List<Integer> ranks) {
        return newGroup(ranks, Optional.empty());
    }

    @Override
    public Optional<ProcessGroup> newGroup(List<Integer> ranks, BackendOptions options) {
        return newGroup(ranks, Optional.of(Require.nonNull(options, "options")));
    }

    private Optional<ProcessGroup> newGroup(List<Integer> ranks, Optional<BackendOptions> options) {
        VirtualThreads.refuseForming(group.context(), "newGroup");
        List<Integer> members = Lists.copy(ranks, new Integer[0], group.context(), "ranks");
        return group.newGroup(members, options).map(DefaultProcessGroup::new);
    }

    @Override
    public Optional<ProcessGroup> split(int color, int key) {
        return split(color, key, Optional.empty());
    }

    @Override
    public Optional<ProcessGroup> split(int color, int key, BackendOptions options) {
        return split(color, key, Optional.of(Require.nonNull(options, "options")));
    }

    private Optional<ProcessGroup> split(int color, int key, Optional<BackendOptions> options) {
        VirtualThreads.refuseForming(group.context(), "split");
        return group.split(color, key, options).map(DefaultProcessGroup::new);
    }

    @Override
    public ProcessGroup shrink(Duration gracePeriod) {
        VirtualThreads.refuseForming(group.context(), "shrink");
        return new DefaultProcessGroup(group.shrink(gracePeriod));
    }

    @Override
    public ProcessGroup reconfigure(Duration patience) {
        VirtualThreads.refuseForming(group.context(), "reconfigure");
        return new DefaultProcessGroup(group.reconfigure(patience));
    }

    @Override
    public int generation() {
        return group.generation();
    }

    @Override
    public boolean hasNewcomers() {
        return group.hasNewcomers();
    }

    @Override
    public Optional<JcclException> failure() {
        return group.failure().map(JcclException::forCaller);
    }

    @Override
    public void abort() {
        group.abort();
    }

    @Override
    public void close() {
        group.close();
    }

    @Override
    public String toString() {
        return "group '" + name() + "', rank " + rank() + " of " + size();
    }

    /** The synchronous operations. */
    private static final class Sync implements SyncCollectives {

        /** About the maximum length of a Java array. */
        private static final int MAX_ARRAY = Integer.MAX_VALUE - 8;

        private final Group group;
        private final Operations operations;

        /**
         * Creates them.
         *
         * @param timeoutNanos how long each may take, or 0 for the timeout of the group
         */
        Sync(Group group, long timeoutNanos) {
            this.group = group;
            this.operations = new Operations(group, Engine::borrow, timeoutNanos);
        }

        @Override
        public void broadcast(Tensor tensor, int root) {
            operations.broadcast(tensor, root).run();
        }

        @Override
        public void allReduce(Tensor tensor, ReduceOp op) {
            operations.allReduce(tensor, op).run();
        }

        @Override
        public void reduce(Tensor tensor, int root, ReduceOp op) {
            operations.reduce(tensor, root, op).run();
        }

        @Override
        public void allGather(List<Tensor> outputs, Tensor input) {
            operations.allGather(outputs, input).run();
        }

        @Override
        public void allGatherSingle(Tensor output, Tensor input) {
            operations.allGatherSingle(output, input).run();
        }

        @Override
        public void gather(List<Tensor> outputs, Tensor input, int root) {
            operations.gather(outputs, input, root).run();
        }

        @Override
        public void scatter(Tensor output, List<Tensor> inputs, int root) {
            operations.scatter(output, inputs, root).run();
        }

        @Override
        public void reduceScatter(Tensor output, List<Tensor> inputs, ReduceOp op) {
            operations.reduceScatter(output, inputs, op).run();
        }

        @Override
        public void reduceScatterSingle(Tensor output, Tensor input, ReduceOp op) {
            operations.reduceScatterSingle(output, input, op).run();
        }

        @Override
        public void allToAll(List<Tensor> outputs, List<Tensor> inputs) {
            operations.allToAll(outputs, inputs).run();
        }

        @Override
        public void allToAllSingle(Tensor output, Tensor input) {
            operations.allToAllSingle(output, input).run();
        }

        @Override
        public void allToAllSingle(
                Tensor output, Tensor input, long[] outputSplits, long[] inputSplits) {
            operations.allToAllSingle(output, input, outputSplits, inputSplits).run();
        }

        @Override
        public void send(Tensor tensor, int peer, int tag) {
            operations.send(tensor, peer, tag).run();
        }

        @Override
        public void recv(Tensor tensor, int peer, int tag) {
            operations.recv(tensor, peer, tag).run();
        }

        @Override
        public int recvAnySource(Tensor tensor, int tag) {
            return operations.recvAnySource(tensor, tag).run();
        }

        @Override
        public void barrier() {
            operations.barrier().run();
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
    }
}
