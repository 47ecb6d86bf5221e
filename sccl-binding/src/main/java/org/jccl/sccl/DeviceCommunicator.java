package org.jccl.sccl;

import org.jccl.DataType;
import org.jccl.GroupAbortedException;
import org.jccl.ReduceOp;
import org.jccl.spi.Capabilities;
import org.jccl.spi.CleanUp;
import org.jccl.spi.OperationKind;
import org.jccl.spi.StreamCommunicator;

/**
 * Hands the operations of a communicator over to the device's thread. A call is over when the
 * library has enqueued the operation or has failed. Operations create no garbage: the engine issues
 * one at a time, so one object carries the arguments of all.
 */
final class DeviceCommunicator implements StreamCommunicator, ChipMap.HasChipMap {

    /** The arguments of the operation that is handed over. */
    private static final class Arguments extends DeviceCall {
        private final ScclCommunicator to;
        private OperationKind kind;
        private long input;
        private long output;
        private long count;
        private long[] counts;
        private long[] outputCounts;
        private DataType type;
        private ReduceOp op;
        private int peer;
        private long stream;

        Arguments(ScclCommunicator to) {
            this.to = to;
        }

        @Override
        void run() {
            switch (kind) {
                case BROADCAST -> to.broadcast(input, count, type, peer, stream);
                case ALL_REDUCE -> to.allReduce(input, output, count, type, op, stream);
                case REDUCE -> to.reduce(input, output, count, type, op, peer, stream);
                case ALL_GATHER -> to.allGather(input, output, count, type, stream);
                case ALL_GATHER_V -> to.allGatherV(input, output, counts, type, stream);
                case GATHER -> to.gather(input, output, count, type, peer, stream);
                case SCATTER -> to.scatter(input, output, count, type, peer, stream);
                case REDUCE_SCATTER -> to.reduceScatter(input, output, count, type, op, stream);
                case REDUCE_SCATTER_V -> to.reduceScatterV(input, output, counts, type, op, stream);
                case ALL_TO_ALL -> to.allToAll(input, output, count, type, stream);
                case ALL_TO_ALL_V ->
                        to.allToAllV(input, output, counts, outputCounts, type, stream);
                case SEND -> to.send(input, count, type, peer, 0, stream);
                case RECV -> to.recv(output, count, type, peer, 0, stream);
                case BARRIER -> to.barrier(stream);
            }
        }
    }

    private final TpuDevice device;
    private final ScclCommunicator communicator;
    private final Arguments arguments;

    DeviceCommunicator(TpuDevice device, ScclCommunicator communicator) {
        this.device = device;
        this.communicator = communicator;
        this.arguments = new Arguments(communicator);
    }

    @Override
    public int[] chipMap() {
        return communicator.chipMap();
    }

    @Override
    public Capabilities capabilities() {
        return communicator.capabilities();
    }

    @Override
    public boolean reduces(ReduceOp op, DataType type) {
        return communicator.reduces(op, type);
    }

    private void prepare(long input, long output, long count, long[] counts, DataType type) {
        device.thread.requireIdle(arguments);
        arguments.input = input;
        arguments.output = output;
        arguments.count = count;
        arguments.counts = counts;
        arguments.type = type;
    }

    private void issue(OperationKind kind, ReduceOp op, int peer, long stream) {
        device.queue(stream).awaitRoom();
        arguments.kind = kind;
        arguments.op = op;
        arguments.peer = peer;
        arguments.stream = stream;
        device.thread.call(arguments);
    }

    @Override
    public void broadcast(long address, long count, DataType type, int root, long stream) {
        prepare(address, 0, count, null, type);
        issue(OperationKind.BROADCAST, null, root, stream);
    }

    @Override
    public void allReduce(
            long input, long output, long count, DataType type, ReduceOp op, long stream) {
        prepare(input, output, count, null, type);
        issue(OperationKind.ALL_REDUCE, op, 0, stream);
    }

    @Override
    public void reduce(
            long input,
            long output,
            long count,
            DataType type,
            ReduceOp op,
            int root,
            long stream) {
        prepare(input, output, count, null, type);
        issue(OperationKind.REDUCE, op, root, stream);
    }

    @Override
    public void allGather(long input, long output, long count, DataType type, long stream) {
        prepare(input, output, count, null, type);
        issue(OperationKind.ALL_GATHER, null, 0, stream);
    }

    @Override
    public void allGatherV(long input, long output, long[] counts, DataType type, long stream) {
        prepare(input, output, 0, counts, type);
        issue(OperationKind.ALL_GATHER_V, null, 0, stream);
    }

    @Override
    public void gather(long input, long output, long count, DataType type, int root, long stream) {
        prepare(input, output, count, null, type);
        issue(OperationKind.GATHER, null, root, stream);
    }

    @Override
    public void scatter(long input, long output, long count, DataType type, int root, long stream) {
        prepare(input, output, count, null, type);
        issue(OperationKind.SCATTER, null, root, stream);
    }

    @Override
    public void reduceScatter(
            long input, long output, long count, DataType type, ReduceOp op, long stream) {
        prepare(input, output, count, null, type);
        issue(OperationKind.REDUCE_SCATTER, op, 0, stream);
    }

    @Override
    public void reduceScatterV(
            long input, long output, long[] counts, DataType type, ReduceOp op, long stream) {
        prepare(input, output, 0, counts, type);
        issue(OperationKind.REDUCE_SCATTER_V, op, 0, stream);
    }

    @Override
    public void allToAll(long input, long output, long count, DataType type, long stream) {
        prepare(input, output, count, null, type);
        issue(OperationKind.ALL_TO_ALL, null, 0, stream);
    }

    @Override
    public void allToAllV(
            long input,
            long output,
            long[] inputCounts,
            long[] outputCounts,
            DataType type,
            long stream) {
        prepare(input, output, 0, inputCounts, type);
        arguments.outputCounts = outputCounts;
        issue(OperationKind.ALL_TO_ALL_V, null, 0, stream);
    }

    @Override
    public void send(long address, long count, DataType type, int peer, int tag, long stream) {
        prepare(address, 0, count, null, type);
        issue(OperationKind.SEND, null, peer, stream);
    }

    @Override
    public void recv(long address, long count, DataType type, int peer, int tag, long stream) {
        prepare(0, address, count, null, type);
        issue(OperationKind.RECV, null, peer, stream);
    }

    @Override
    public void barrier(long stream) {
        prepare(0, 0, 0, null, null);
        issue(OperationKind.BARRIER, null, 0, stream);
    }

    @Override
    public void batchStart() {
        device.thread.run(communicator::batchStart);
    }

    @Override
    public void batchEnd() {
        device.thread.run(communicator::batchEnd);
    }

    @Override
    public void abort() {
        communicator.abort();
    }

    @Override
    public boolean abandonsOperations() {
        return communicator.abandonsOperations();
    }

    /** {@inheritDoc} If a call of an aborted group never returns, nothing is freed. */
    @Override
    public void close() {
        try {
            device.thread.run(communicator::close);
        } catch (GroupAbortedException e) {
            CleanUp.log("a communicator of tpu:" + device.index + " is not freed", e);
        }
    }
}
