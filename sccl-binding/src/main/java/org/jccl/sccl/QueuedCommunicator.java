package org.jccl.sccl;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jccl.DataType;
import org.jccl.FailureContext;
import org.jccl.GroupAbortedException;
import org.jccl.JcclException;
import org.jccl.ReduceOp;
import org.jccl.spi.Capabilities;
import org.jccl.spi.StreamCommunicator;

/** Runs the operations of a communicator on a device's thread, in order, each to its end. */
final class QueuedCommunicator implements StreamCommunicator, ChipMap.HasChipMap {

    private static final System.Logger LOGGER =
            System.getLogger(QueuedCommunicator.class.getName());

    /** How long a failed call waits for the watchdog, which polls far more often. */
    private static final long NOTICE_NANOS = TimeUnit.SECONDS.toNanos(10);

    /** A device that needs longer to end its operations counts as stuck. */
    private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(10);

    private static final long PARK_NANOS = 1_000_000;

    private final ScclCommunicator direct;
    private final ThreadQueue thread;
    private volatile JcclException failure;
    private volatile boolean aborted;

    QueuedCommunicator(ScclCommunicator direct, ThreadQueue thread) {
        this.direct = direct;
        this.thread = thread;
    }

    @Override
    public int[] chipMap() {
        return direct.chipMap();
    }

    private void enqueue(Runnable call) {
        if (aborted) {
            throw new GroupAbortedException(
                    FailureContext.NONE, "the SCCL communicator was aborted or closed");
        }
        thread.submit(() -> run(call));
    }

    /**
     * Runs a call. A failed call does not return before its group has failed, or it would count as
     * done.
     */
    private void run(Runnable call) {
        try {
            call.run();
        } catch (JcclException e) {
            failure = e;
            long end = System.nanoTime() + NOTICE_NANOS;
            while (!aborted && System.nanoTime() - end < 0) {
                LockSupport.parkNanos(PARK_NANOS);
            }
        }
    }

    @Override
    public JcclException asynchronousError() {
        return failure;
    }

    @Override
    public boolean abandonsOperations() {
        return direct.abandonsOperations();
    }

    @Override
    public Capabilities capabilities() {
        return direct.capabilities();
    }

    @Override
    public boolean reduces(ReduceOp op, DataType type) {
        return direct.reduces(op, type);
    }

    @Override
    public void broadcast(long address, long count, DataType type, int root, long stream) {
        enqueue(() -> direct.broadcast(address, count, type, root, stream));
    }

    @Override
    public void allReduce(
            long input, long output, long count, DataType type, ReduceOp op, long stream) {
        enqueue(() -> direct.allReduce(input, output, count, type, op, stream));
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
        enqueue(() -> direct.reduce(input, output, count, type, op, root, stream));
    }

    @Override
    public void allGather(long input, long output, long count, DataType type, long stream) {
        enqueue(() -> direct.allGather(input, output, count, type, stream));
    }

    @Override
    public void allGatherV(long input, long output, long[] counts, DataType type, long stream) {
        enqueue(() -> direct.allGatherV(input, output, counts, type, stream));
    }

    @Override
    public void gather(long input, long output, long count, DataType type, int root, long stream) {
        enqueue(() -> direct.gather(input, output, count, type, root, stream));
    }

    @Override
    public void scatter(long input, long output, long count, DataType type, int root, long stream) {
        enqueue(() -> direct.scatter(input, output, count, type, root, stream));
    }

    @Override
    public void reduceScatter(
            long input, long output, long count, DataType type, ReduceOp op, long stream) {
        enqueue(() -> direct.reduceScatter(input, output, count, type, op, stream));
    }

    @Override
    public void reduceScatterV(
            long input, long output, long[] counts, DataType type, ReduceOp op, long stream) {
        enqueue(() -> direct.reduceScatterV(input, output, counts, type, op, stream));
    }

    @Override
    public void allToAll(long input, long output, long count, DataType type, long stream) {
        enqueue(() -> direct.allToAll(input, output, count, type, stream));
    }

    @Override
    public void allToAllV(
            long input,
            long output,
            long[] inputCounts,
            long[] outputCounts,
            DataType type,
            long stream) {
        enqueue(() -> direct.allToAllV(input, output, inputCounts, outputCounts, type, stream));
    }

    @Override
    public void send(long address, long count, DataType type, int peer, int tag, long stream) {
        enqueue(() -> direct.send(address, count, type, peer, tag, stream));
    }

    @Override
    public void recv(long address, long count, DataType type, int peer, int tag, long stream) {
        enqueue(() -> direct.recv(address, count, type, peer, tag, stream));
    }

    @Override
    public void barrier(long stream) {
        enqueue(() -> direct.barrier(stream));
    }

    @Override
    public void batchStart() {
        enqueue(direct::batchStart);
    }

    @Override
    public void batchEnd() {
        enqueue(direct::batchEnd);
    }

    @Override
    public void abort() {
        aborted = true;
        direct.abort();
    }

    @Override
    public void close() {
        aborted = true;
        long position = thread.submit(direct::close);
        Duration timeout = direct.timeout();
        long end =
                System.nanoTime()
                        + (timeout.compareTo(CLOSE_TIMEOUT) < 0 ? timeout : CLOSE_TIMEOUT)
                                .toNanos();
        while (!thread.reached(position)) {
            if (System.nanoTime() - end > 0) {
                LOGGER.log(
                        System.Logger.Level.WARNING,
                        "an SCCL communicator on tpu:{0} was left behind: the device is stuck",
                        thread.device);
                return;
            }
            LockSupport.parkNanos(PARK_NANOS);
        }
    }
}
