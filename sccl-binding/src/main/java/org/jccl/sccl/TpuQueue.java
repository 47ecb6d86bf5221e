package org.jccl.sccl;

import java.time.Duration;
import org.jccl.FailureContext;
import org.jccl.GroupAbortedException;
import org.jccl.JcclException;
import org.jccl.spi.DeviceRuntime;
import org.jccl.spi.Durations;
import org.jccl.spi.Polling;

/**
 * Work that a device does in order, the handle by which SCCL adds operations to it, and its
 * progress. Positions in the queue are ascending numbers, see {@link #position}.
 */
abstract sealed class TpuQueue permits StreamQueue {

    private static final System.Logger LOGGER = System.getLogger(TpuQueue.class.getName());

    private static final int SPINS = 200;

    /** The longest grace period: a queue that needs more time after an abort counts as stuck. */
    private static final Duration GRACE_PERIOD = Duration.ofSeconds(5);

    final int device;

    private volatile boolean aborted;
    private volatile long abortedAt;
    private volatile Duration gracePeriod = GRACE_PERIOD;
    private volatile long abortedPosition;

    /** Whether the log says that this queue is stuck. */
    private volatile boolean logged;

    TpuQueue(int device) {
        this.device = device;
    }

    /**
     * Blocks the calls of other threads until {@link #end()}. The vendor does not document that two
     * threads may use a handle, or that one may enqueue between a call of another and its flush.
     */
    abstract void begin();

    /** Admits other threads again; never fails. */
    abstract void end();

    /** The handle that SCCL's calls on this queue take. */
    abstract long handle();

    /** Starts what was called with the handle; called before {@link #end()}. */
    abstract void push();

    /** The position behind everything that was enqueued; never waits for another thread's call. */
    abstract long position();

    /** Returns whether the queue has reached a position; never blocks. */
    abstract boolean reached(long position);

    /** Returns whether everything that was enqueued is done; never blocks. */
    boolean isIdle() {
        return reached(position());
    }

    /** Enqueues a copy. */
    abstract void copy(long to, long from, long bytes, DeviceRuntime.Copy direction);

    /** Enqueues a copy on the device, in order with calls; called between begin and end. */
    abstract void copyBetweenCalls(long to, long from, long bytes);

    /** Records when the queue reaches its current end; the event must be one for timing. */
    abstract void stamp(TpuEvent event);

    /** The milliseconds between two stamps that this queue has passed. */
    abstract double elapsedMillis(TpuEvent start, TpuEvent end);

    /** Releases an event's stamp. */
    abstract void dropStamp(TpuEvent event);

    /** Blocks until the queue has reached a position. */
    final void await(long position) {
        for (long polls = 0; !reached(position); polls++) {
            requireProgress();
            Polling.pause(polls, SPINS);
        }
    }

    /**
     * Limits how long threads wait for what was enqueued until now. The library has no abort, so an
     * operation may never end. A thread that waits for this queue then fails after the grace
     * period, which is not longer than the deadline of an operation.
     *
     * @param timeout the group's deadline of each operation
     */
    final void abort(Duration timeout) {
        try {
            TpuRuntime.enter(device);
            gracePeriod = timeout.compareTo(GRACE_PERIOD) < 0 ? timeout : GRACE_PERIOD;
            noteAbort(gracePeriod);
            abortedPosition = position();
            abortedAt = System.nanoTime();
            aborted = true;
        } catch (JcclException e) {
            LOGGER.log(System.Logger.Level.WARNING, "tpu:" + device + " failed during an abort", e);
        }
    }

    /** A group was aborted; threads wait for calls that are inside no longer than this. */
    void noteAbort(Duration limit) {}

    private void requireProgress() {
        if (!aborted || System.nanoTime() - abortedAt < gracePeriod.toNanos()) {
            return;
        }
        if (reached(abortedPosition)) {
            aborted = false;
            return;
        }
        String text =
                "tpu:"
                        + device
                        + " has been stuck in an operation of an aborted group for "
                        + Durations.text(gracePeriod)
                        + ": SCCL cannot end it; start this process again";
        if (!logged) {
            // A thread that waits for the failed group gets the failure of the group instead.
            logged = true;
            LOGGER.log(System.Logger.Level.WARNING, text);
        }
        throw new GroupAbortedException(FailureContext.NONE, text);
    }
}
