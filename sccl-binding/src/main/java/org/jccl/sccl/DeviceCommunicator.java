package org.jccl.sccl;

import org.jccl.DataType;
import org.jccl.GroupAbortedException;
import org.jccl.ReduceOp;
import org.jccl.spi.Capabilities;
import org.jccl.spi.CleanUp;
import org.jccl.spi.StreamCommunicator;

/**
 * Hands the operations of a communicator over to the device's thread. A call is over when the
 * library has enqueued the operation or has failed. Creates no garbage: the engine issues one
 * operation at a time, so one object carries the arguments of all.
 */
final class DeviceCommunicator implements StreamCommunicator, ChipMap.HasChipMap {

    /** An operation. Captures nothing. */
    private interface Operation {
        void issue(ScclCommunicator communicator, Arguments with);
    }

    private static final Operation BROADCAST =
            (to, with) -> to.broadcast(with.input, with.count, with.type, with.peer, with.stream);

    private static final Operation ALL_REDUCE =
            (to, with) ->
                    to.allReduce(
                            with.input, with.output, with.count, with.type, with.op, with.stream);

    private static final Operation REDUCE =
            (to, with) ->
                    to.reduce(
                            with.input,
                            with.output,
                            with.count,
                            with.type,
                            with.op,
                            with.peer,
                            with.stream);

    private static final Operation ALL_GATHER =
            (to, with) -> to.allGather(with.input, with.output, with.count, with.type, with.stream);

    private static final Operation ALL_GATHER_V =
            (to, with) ->
                    to.allGatherV(with.input, with.output, with.counts, with.type, with.stream);

    private static final Operation GATHER =
            (to, with) ->
                    to.gather(
                            with.input, with.output, with.count, with.type, with.peer, with.stream);

    private static final Operation SCATTER =
            (to, with) ->
                    to.scatter(
                            with.input, with.output, with.count, with.type, with.peer, with.stream);

    private static final Operation REDUCE_SCATTER =
            (to, with) ->
                    to.reduceScatter(
                            with.input, with.output, with.count, with.type, with.op, with.stream);

    private static final Operation REDUCE_SCATTER_V =
            (to, with) ->
                    to.reduceScatterV(
                            with.input, with.output, with.counts, with.type, with.op, with.stream);

    private static final Operation ALL_TO_ALL =
            (to, with) -> to.allToAll(with.input, with.output, with.count, with.type, with.stream);

    private static final Operation ALL_TO_ALL_V =
            (to, with) ->
                    to.allToAllV(
                            with.input,
                            with.output,
                            with.counts,
                            with.outputCounts,
                            with.type,
                            with.stream);

    private static final Operation SEND =
            (to, with) -> to.send(with.input, with.count, with.type, with.peer, 0, with.stream);

    private static final Operation RECV =
            (to, with) -> to.recv(with.output, with.count, with.type, with.peer, 0, with.stream);

    private static final Operation BARRIER = (to, with) -> to.barrier(with.stream);

    private static final Operation BATCH_START = (to, with) -> to.batchStart();

    private static final Operation BATCH_END = (to, with) -> to.batchEnd();

    private static final Operation CLOSE = (to, with) -> to.close();

    /** The arguments of the operation that is handed over. */
    private static final class Arguments extends DeviceCall {
        private final ScclCommunicator communicator;
        private Operation operation;
        private long input;
        private long output;
        private long count;
        private long[] counts;
        private long[] outputCounts;
        private DataType type;
        private ReduceOp op;
        private int peer;
        private long stream;

        Arguments(ScclCommunicator communicator) {
            this.communicator = communicator;
        }

        @Override
        void run() {
            operation.issue(communicator, this);
        }

        Arguments memory(long from, long to) {
            input = from;
            output = to;
            return this;
        }

        Arguments elements(long number, DataType ofType) {
            count = number;
            type = ofType;
            return this;
        }

        Arguments elements(long[] numbers, DataType ofType) {
            counts = numbers;
            type = ofType;
            return this;
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

    private Arguments arguments(long input, long output) {
        device.thread.requireIdle(arguments);
        return arguments.memory(input, output);
    }

    private void issue(Operation operation, ReduceOp op, int peer, long stream) {
        device.queue(stream).awaitRoom();
        arguments.op = op;
        arguments.peer = peer;
        arguments.stream = stream;
        call(operation);
    }

    private void call(Operation operation) {
        arguments.operation = operation;
        device.thread.call(arguments);
    }

    @Override
    public void broadcast(long address, long count, DataType type, int root, long stream) {
        arguments(address, 0).elements(count, type);
        issue(BROADCAST, null, root, stream);
    }

    @Override
    public void allReduce(
            long input, long output, long count, DataType type, ReduceOp op, long stream) {
        arguments(input, output).elements(count, type);
        issue(ALL_REDUCE, op, 0, stream);
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
        arguments(input, output).elements(count, type);
        issue(REDUCE, op, root, stream);
    }

    @Override
    public void allGather(long input, long output, long count, DataType type, long stream) {
        arguments(input, output).elements(count, type);
        issue(ALL_GATHER, null, 0, stream);
    }

    @Override
    public void allGatherV(long input, long output, long[] counts, DataType type, long stream) {
        arguments(input, output).elements(counts, type);
        issue(ALL_GATHER_V, null, 0, stream);
    }

    @Override
    public void gather(long input, long output, long count, DataType type, int root, long stream) {
        arguments(input, output).elements(count, type);
        issue(GATHER, null, root, stream);
    }

    @Override
    public void scatter(long input, long output, long count, DataType type, int root, long stream) {
        arguments(input, output).elements(count, type);
        issue(SCATTER, null, root, stream);
    }

    @Override
    public void reduceScatter(
            long input, long output, long count, DataType type, ReduceOp op, long stream) {
        arguments(input, output).elements(count, type);
        issue(REDUCE_SCATTER, op, 0, stream);
    }

    @Override
    public void reduceScatterV(
            long input, long output, long[] counts, DataType type, ReduceOp op, long stream) {
        arguments(input, output).elements(counts, type);
        issue(REDUCE_SCATTER_V, op, 0, stream);
    }

    @Override
    public void allToAll(long input, long output, long count, DataType type, long stream) {
        arguments(input, output).elements(count, type);
        issue(ALL_TO_ALL, null, 0, stream);
    }

    @Override
    public void allToAllV(
            long input,
            long output,
            long[] inputCounts,
            long[] outputCounts,
            DataType type,
            long stream) {
        arguments(input, output).elements(inputCounts, type).outputCounts = outputCounts;
        issue(ALL_TO_ALL_V, null, 0, stream);
    }

    @Override
    public void send(long address, long count, DataType type, int peer, int tag, long stream) {
        arguments(address, 0).elements(count, type);
        issue(SEND, null, peer, stream);
    }

    @Override
    public void recv(long address, long count, DataType type, int peer, int tag, long stream) {
        arguments(0, address).elements(count, type);
        issue(RECV, null, peer, stream);
    }

    @Override
    public void barrier(long stream) {
        arguments(0, 0);
        issue(BARRIER, null, 0, stream);
    }

    @Override
    public void batchStart() {
        call(BATCH_START);
    }

    @Override
    public void batchEnd() {
        call(BATCH_END);
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
            call(CLOSE);
        } catch (GroupAbortedException e) {
            CleanUp.log("a communicator of tpu:" + device.index + " is not freed", e);
        }
    }
}
