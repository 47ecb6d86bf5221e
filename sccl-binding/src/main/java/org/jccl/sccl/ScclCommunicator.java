package org.jccl.sccl;

import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jccl.DataType;
import org.jccl.FailureContext;
import org.jccl.GroupAbortedException;
import org.jccl.ReduceOp;
import org.jccl.spi.Capabilities;
import org.jccl.spi.Capabilities.Feature;
import org.jccl.spi.CommunicatorConfig;
import org.jccl.spi.OperationKind;
import org.jccl.spi.StreamCommunicator;
import org.jccl.spi.support.MessageBatch;
import org.jccl.spi.support.MessageBatch.Message;

/**
 * One rank's {@code scclComm_t}, for the device's thread, except for {@link #abort}. Every
 * operation is enqueued with the handle of the given stream.
 *
 * <p>Operations that SCCL lacks are built from others: reduce-scatter is a reduction to each rank,
 * and parts of different sizes are broadcasts, reductions or messages. A group of one rank does not
 * call the library.
 */
final class ScclCommunicator implements StreamCommunicator, ChipMap.HasChipMap {

    private final ScclCalls functions;
    private final TpuRuntime runtime;
    private final int rank;
    private final int size;
    private final TpuDevice device;
    private final int[] chipMap;
    private final Duration timeout;
    private final Scratch scratch;
    private final Averages averages;
    private final MessageBatch batch = new MessageBatch();
    private final long barrierMemory;
    private final Capabilities capabilities;
    private boolean batching;
    private TpuQueue batchQueue;
    private volatile boolean aborted;
    private boolean closed;

    /** The queues to which operations were issued. */
    private final Set<TpuQueue> queues = ConcurrentHashMap.newKeySet();

    /**
     * Takes ownership of a communicator.
     *
     * @param calls on an initialised communicator, or on none in a group of one
     * @param runtime drives the device
     * @param config what it was formed from
     * @param chipMap the TPU of each rank
     */
    ScclCommunicator(
            ScclCalls calls, TpuRuntime runtime, CommunicatorConfig config, int[] chipMap) {
        this.functions = calls;
        this.runtime = runtime;
        this.rank = config.rank();
        this.size = config.size();
        this.device = runtime.device(config.device().index());
        this.chipMap = chipMap;
        this.timeout = config.timeout();
        this.scratch = new Scratch(runtime);
        this.averages = new Averages(rank, size, runtime, scratch);
        this.barrierMemory = runtime.allocate(Float.BYTES);
        Capabilities all =
                Capabilities.ALL
                        .without(Feature.SHRINK)
                        .withLargestTag(0)
                        .without(Feature.ANY_SOURCE);
        this.capabilities =
                size == 1 || calls.messages
                        ? all
                        : all.without(
                                "this libsccl has no scclSend and scclRecv, which send, recv and"
                                        + " allToAll with splits or lists need; install a newer"
                                        + " one",
                                OperationKind.SEND,
                                OperationKind.RECV,
                                OperationKind.ALL_TO_ALL_V);
    }

    @Override
    public int[] chipMap() {
        return chipMap;
    }

    /** Deadline of each operation. */
    Duration timeout() {
        return timeout;
    }

    /** Lets calls go to the stream's queue until the result is closed. */
    private ScclCalls enter(long stream) {
        TpuQueue queue = device.queue(stream);
        queues.add(queue);
        // Checked after the queue was added: an abort that is not seen here sees the queue.
        if (aborted) {
            throw new GroupAbortedException(
                    FailureContext.NONE, "the SCCL communicator was aborted or closed");
        }
        return functions.begin(queue);
    }

    @Override
    public Capabilities capabilities() {
        return capabilities;
    }

    @Override
    public boolean reduces(ReduceOp op, DataType type) {
        return ScclTypes.reduces(op, type);
    }

    @Override
    public void broadcast(long address, long count, DataType type, int root, long stream) {
        try (ScclCalls calls = enter(stream)) {
            if (size > 1) {
                calls.broadcast(address, count, type, root);
            }
        }
    }

    @Override
    public void allReduce(
            long input, long output, long count, DataType type, ReduceOp op, long stream) {
        try (ScclCalls calls = enter(stream)) {
            if (size == 1) {
                calls.copy(input, output, count * type.size());
                return;
            }
            calls.allReduce(input, output, count, type, ScclTypes.op(op));
            if (op.kind() == ReduceOp.Kind.AVG) {
                averages.divideOnAll(calls, output, count, type);
            }
        }
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
        try (ScclCalls calls = enter(stream)) {
            if (size == 1) {
                calls.copy(input, output, count * type.size());
            } else {
                reduceTo(calls, input, output, count, type, op, root);
            }
        }
    }

    private void reduceTo(
            ScclCalls calls,
            long input,
            long output,
            long count,
            DataType type,
            ReduceOp op,
            int root) {
        long to = rank == root ? output : scratch.reserve(calls.queue(), count * type.size());
        calls.reduce(input, to, count, type, ScclTypes.op(op), root);
        if (op.kind() == ReduceOp.Kind.AVG) {
            averages.divideOnRoot(calls, output, count, type, root);
        }
    }

    @Override
    public void allGather(long input, long output, long count, DataType type, long stream) {
        long bytes = count * type.size();
        try (ScclCalls calls = enter(stream)) {
            if (size == 1) {
                calls.copy(input, output, bytes);
            } else {
                long from = apart(calls, input, output + rank * bytes, bytes);
                calls.allGather(from, output, count, type);
            }
        }
    }

    @Override
    public void allGatherV(long input, long output, long[] counts, DataType type, long stream) {
        try (ScclCalls calls = enter(stream)) {
            long part = output;
            for (int root = 0; root < size; root++) {
                long bytes = counts[root] * type.size();
                if (root == rank) {
                    calls.copy(input, part, bytes);
                }
                if (size > 1) {
                    calls.broadcast(part, counts[root], type, root);
                }
                part += bytes;
            }
        }
    }

    @Override
    public void gather(long input, long output, long count, DataType type, int root, long stream) {
        long bytes = count * type.size();
        try (ScclCalls calls = enter(stream)) {
            if (size == 1) {
                calls.copy(input, output, bytes);
            } else if (rank == root) {
                long from = apart(calls, input, output + rank * bytes, bytes);
                calls.gather(from, output, count, type, root);
            } else {
                calls.gather(input, scratch.reserve(calls.queue(), bytes), count, type, root);
            }
        }
    }

    @Override
    public void scatter(long input, long output, long count, DataType type, int root, long stream) {
        long bytes = count * type.size();
        try (ScclCalls calls = enter(stream)) {
            if (size == 1) {
                calls.copy(input, output, bytes);
            } else {
                boolean inPlace = rank == root && output == input + rank * bytes;
                long from = rank == root ? input : scratch.reserve(calls.queue(), bytes);
                long to = inPlace ? scratch.reserve(calls.queue(), bytes) : output;
                calls.scatter(from, to, count, type, root);
            }
        }
    }

    @Override
    public void reduceScatter(
            long input, long output, long count, DataType type, ReduceOp op, long stream) {
        try (ScclCalls calls = enter(stream)) {
            for (int root = 0; root < size; root++) {
                long part = input + root * count * type.size();
                reducePart(calls, part, output, count, type, op, root);
            }
        }
    }

    @Override
    public void reduceScatterV(
            long input, long output, long[] counts, DataType type, ReduceOp op, long stream) {
        try (ScclCalls calls = enter(stream)) {
            long part = input;
            for (int root = 0; root < size; root++) {
                reducePart(calls, part, output, counts[root], type, op, root);
                part += counts[root] * type.size();
            }
        }
    }

    private void reducePart(
            ScclCalls calls,
            long part,
            long output,
            long count,
            DataType type,
            ReduceOp op,
            int root) {
        if (size == 1) {
            calls.copy(part, output, count * type.size());
        } else {
            reduceTo(calls, part, output, count, type, op, root);
        }
    }

    @Override
    public void allToAll(long input, long output, long count, DataType type, long stream) {
        try (ScclCalls calls = enter(stream)) {
            if (size == 1) {
                calls.copy(input, output, count * type.size());
            } else {
                calls.allToAll(input, output, count, type);
            }
        }
    }

    @Override
    public void allToAllV(
            long input,
            long output,
            long[] inputCounts,
            long[] outputCounts,
            DataType type,
            long stream) {
        try (ScclCalls calls = enter(stream)) {
            MessageBatch exchange = new MessageBatch();
            long from = input;
            long to = output;
            for (int peer = 0; peer < size; peer++) {
                if (peer == rank) {
                    calls.copy(from, to, inputCounts[peer] * type.size());
                } else {
                    exchange.add(new Message(false, from, inputCounts[peer], type, peer));
                    exchange.add(new Message(true, to, outputCounts[peer], type, peer));
                }
                from += inputCounts[peer] * type.size();
                to += outputCounts[peer] * type.size();
            }
            issue(calls, exchange);
        }
    }

    /** Issues messages in an order without deadlock: SCCL has no groups, and sends may wait. */
    private void issue(ScclCalls calls, MessageBatch messages) {
        messages.takeOrdered(rank).forEach(calls::issue);
    }

    @Override
    public void send(long address, long count, DataType type, int peer, int tag, long stream) {
        message(new Message(false, address, count, type, peer), stream);
    }

    @Override
    public void recv(long address, long count, DataType type, int peer, int tag, long stream) {
        message(new Message(true, address, count, type, peer), stream);
    }

    private void message(Message message, long stream) {
        try (ScclCalls calls = enter(stream)) {
            if (batching) {
                batch.add(message);
                batchQueue = calls.queue();
            } else {
                calls.issue(message);
            }
        }
    }

    @Override
    public void barrier(long stream) {
        if (size == 1) {
            return;
        }
        allReduce(barrierMemory, barrierMemory, 1, DataType.FLOAT32, ReduceOp.SUM, stream);
    }

    /** Retains messages until {@link #batchEnd()}; collectives are issued at once. */
    @Override
    public void batchStart() {
        batching = true;
    }

    @Override
    public void batchEnd() {
        batching = false;
        if (batchQueue != null) {
            TpuQueue queue = batchQueue;
            batchQueue = null;
            try (ScclCalls calls = functions.begin(queue)) {
                issue(calls, batch);
            }
        }
    }

    /** Rejects later calls. SCCL cannot end operations that were enqueued. */
    @Override
    public void abort() {
        aborted = true;
        queues.forEach(queue -> queue.abort(timeout));
    }

    /** Operations that were enqueued may still run after an abort. */
    @Override
    public boolean abandonsOperations() {
        return aborted;
    }

    @Override
    public synchronized void close() {
        if (closed) {
            return;
        }
        closed = true;
        aborted = true;
        averages.free();
        scratch.free();
        runtime.free(barrierMemory);
        if (functions.communicator != 0) {
            ScclErrors.check(Sccl.scclCommDestroy(functions.communicator), "scclCommDestroy");
        }
    }

    /** The input, or a copy of it if it is inside the output, which SCCL does not document. */
    private long apart(ScclCalls calls, long input, long own, long bytes) {
        if (input != own || bytes == 0) {
            return input;
        }
        long copy = scratch.reserve(calls.queue(), bytes);
        calls.copy(input, copy, bytes);
        return copy;
    }
}
