package org.jccl.sccl;

import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import org.jccl.FailureContext;
import org.jccl.GroupAbortedException;
import org.jccl.JcclException;
import org.jccl.spi.DeviceRuntime;
import org.jccl.spi.Durations;

/**
 * Work that a device does in order, with the handle by which SCCL joins it, and how far it has
 * come. Places in it are numbers, see {@link #mark}.
 */
abstract sealed class TpuQueue permits StreamQueue, ThreadQueue {

    private static final System.Logger LOG = System.getLogger(TpuQueue.class.getName());

    private static final int SPINS = 200;
    private static final long PARK_NANOS = 20_000;

    /** A queue that takes longer over what was aborted counts as stuck. */
    private static final Duration MOST_PATIENCE = Duration.ofSeconds(5);

    final int device;

    private volatile boolean aborted;
    private volatile long abortedAt;
    private volatile Duration patience = MOST_PATIENCE;
    private volatile long abortedMark;

    /** Whether the log tells that this queue is stuck. */
    private volatile boolean logged;

    TpuQueue(int device) {
        this.device = device;
    }

    /**
     * Keeps other threads' calls out until {@link #end()}: nothing says that a handle may serve two
     * threads, or that others may enqueue between a call and its flush.
     */
    abstract void begin();

    /** Lets others in again; never fails. */
    abstract void end();

    /** The handle that SCCL's calls on this queue take. */
    abstract long handle();

    /** Has what was called with the handle begin, now that it is complete; before the end. */
    abstract void push();

    /** A place behind everything that was enqueued; never waits for another thread's call. */
    abstract long mark();

    /** Whether the queue has come to a place; never blocks. */
    abstract boolean reached(long mark);

    /** Whether the queue has come to its end; never blocks. */
    boolean isIdle() {
        return reached(mark());
    }

    /** Enqueues a copy. */
    abstract void copy(long to, long from, long bytes, DeviceRuntime.Copy direction);

    /** A copy on the device, in order with the calls with the handle; between begin and end. */
    abstract void copyBetweenCalls(long to, long from, long bytes);

    /** Throws what a copy before a place failed with, if the queue knows of it only afterwards. */
    abstract void throwFailure(long mark);

    /** Notes when the queue comes to this place; the event is made for timing. */
    abstract void stamp(TpuEvent event);

    /** Milliseconds between two stamps of this queue that it has passed. */
    abstract double elapsedMillis(TpuEvent start, TpuEvent end);

    /** Forgets an event's stamp. */
    abstract void dropStamp(TpuEvent event);

    /** Blocks until the queue has come to a place. */
    final void await(long mark) {
        for (int i = 0; !reached(mark); i++) {
            requireMoving();
            if (i < SPINS) {
                Thread.onSpinWait();
            } else {
                LockSupport.parkNanos(PARK_NANOS);
            }
        }
        throwFailure(mark);
    }

    /**
     * An operation that was enqueued may never end, since the library has no abort. Who waits for
     * this queue then fails instead of waiting for good, and not much later than after an
     * operation's own deadline.
     *
     * @param timeout the group's deadline of each operation
     */
    final void abort(Duration timeout) {
        try {
            TpuRuntime.enter(device);
            patience = timeout.compareTo(MOST_PATIENCE) < 0 ? timeout : MOST_PATIENCE;
            abortedMark = mark();
            abortedAt = System.nanoTime();
            aborted = true;
        } catch (JcclException e) {
            LOG.log(System.Logger.Level.WARNING, "tpu:" + device + " failed during an abort", e);
        }
    }

    private void requireMoving() {
        if (!aborted || System.nanoTime() - abortedAt < patience.toNanos()) {
            return;
        }
        if (reached(abortedMark)) {
            aborted = false;
            return;
        }
        String text =
                "tpu:"
                        + device
                        + " is stuck in an operation of a group that was aborted, for "
                        + Durations.text(patience)
                        + " now: SCCL can not end it; start this process again";
        if (!logged) {
            // Who waits in the order of the group that failed gets that failure instead.
            logged = true;
            LOG.log(System.Logger.Level.WARNING, text);
        }
        throw new GroupAbortedException(FailureContext.NONE, text);
    }
}
