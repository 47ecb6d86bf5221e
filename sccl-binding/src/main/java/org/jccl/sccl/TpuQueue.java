package org.jccl.sccl;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;
import java.time.Duration;
import java.util.Arrays;
import org.jccl.FailureContext;
import org.jccl.GroupAbortedException;
import org.jccl.JcclException;
import org.jccl.NativeException;
import org.jccl.spi.CleanUp;
import org.jccl.spi.DeviceRuntime;
import org.jccl.spi.Durations;
import org.jccl.spi.Polling;

/**
 * A stream of the runtime with a handle that was made from it, and its progress. Positions in the
 * queue are ascending numbers.
 *
 * <p>Each position is a native event that is recorded once, and destroyed when it has passed. The
 * vendor does not document whether an event may be recorded again. The device's thread records the
 * event of a position after the calls that enqueue what the position is behind. It alone calls the
 * libraries and writes the fields of this object; other threads read where the queue is.
 */
final class TpuQueue {

    private static final System.Logger LOGGER = System.getLogger(TpuQueue.class.getName());

    /** Codes of tpuEventQuery before the event has passed. */
    private static final int PENDING = 2;

    /** The same from the lower layer of the runtime. */
    private static final int NOT_READY = 1;

    private static final int SPINS = 200;

    /** The longest grace period: a queue that needs more time after an abort counts as stuck. */
    private static final Duration GRACE_PERIOD = Duration.ofSeconds(5);

    /** A thread that enqueues waits while so many positions have not passed. */
    private static final int MOST_PENDING = 256;

    /**
     * A thread that records an event without an operation before it waits while so many such events
     * have not passed. The runtime of November 2024 loses the stream after 400 of them.
     */
    private static final int MOST_BARE = 100;

    final DeviceThread thread;
    final int device;
    final long stream;

    private final long handle;

    /** Whether another library enqueues on the stream too. */
    private final boolean shared;

    /** Where functions write their results. */
    private final Memory result = new Memory(Long.BYTES);

    private final long resultAddress = Pointer.nativeValue(result);

    /** Native events of the positions that have not passed, at their number modulo the length. */
    private long[] events = new long[64];

    /** The positions behind the last events without an operation, at their number modulo length. */
    private final long[] bare = new long[MOST_BARE];

    private volatile long bareCount;

    /** The newest position. */
    private volatile long last;

    /** The newest position whose event is recorded: {@link #last}, or the one before. */
    private long recorded;

    /** The newest position that has passed. */
    private volatile long passed;

    /** The position up to which the device was asked for failures. */
    private long checked;

    private volatile Failure failure;

    /** Why the device could not be asked at last, or null. */
    private volatile JcclException unanswered;

    /** Guards {@link #idleAt}. */
    private final Object asking = new Object();

    /** The position that {@link #isIdle} waits for on a shared stream, or 0. */
    private long idleAt;

    private volatile boolean aborted;
    private volatile long abortedAt;
    private volatile Duration gracePeriod = GRACE_PERIOD;
    private volatile long abortedPosition;

    /** Whether the log says that this queue is stuck. */
    private volatile boolean logged;

    /** The last failure, and the positions between which failures happened. */
    private record Failure(JcclException cause, long after, long upTo) {}

    private TpuQueue(
            DeviceThread thread, int device, long stream, KernelModule module, boolean shared) {
        this.thread = thread;
        this.device = device;
        this.stream = stream;
        this.shared = shared;
        long kernels = module.load(stream);
        this.handle = Tpudnn.tpudnnHandleFromStream(device, stream, kernels);
        if (handle == 0) {
            throw new NativeException(
                    FailureContext.NONE, "libtpudnn", 0, "tpudnnHandleFromStream returned null");
        }
    }

    /** Creates a stream; called on the device's thread. */
    static TpuQueue create(DeviceThread thread, int device, KernelModule module) {
        try (Memory stream = new Memory(Long.BYTES)) {
            TpuErrors.checkRuntime(
                    Tpurt.tpuStreamCreate(Pointer.nativeValue(stream)), "tpuStreamCreate");
            return new TpuQueue(thread, device, stream.getLong(0), module, false);
        }
    }

    /** Wraps another library's stream; called on the device's thread. */
    static TpuQueue share(DeviceThread thread, int device, long stream, KernelModule module) {
        return new TpuQueue(thread, device, stream, module, true);
    }

    /** The handle that SCCL's calls on this queue take. */
    long handle() {
        return handle;
    }

    /** Called before operations are handed over: waits while too many have not passed. */
    void awaitRoom() {
        awaitPassed(last - MOST_PENDING + 1);
    }

    private void awaitRoomForBare() {
        awaitRoom();
        awaitPassed(bare[(int) (bareCount % MOST_BARE)]);
    }

    private void awaitPassed(long position) {
        if (position > passed && !thread.isCurrent()) {
            await(position);
        }
    }

    /** Instructions wait in a cache of the handle until they are flushed. */
    void push() {
        try {
            TpuErrors.checkDnn(Tpudnn.tpudnnFlush(handle), "tpudnnFlush");
        } finally {
            enqueued();
        }
    }

    /** Makes a position behind what was enqueued, unless there is one without an event. */
    private void enqueued() {
        if (last == recorded) {
            add();
        }
    }

    private void add() {
        if (last - passed == events.length) {
            long[] larger = new long[2 * events.length];
            for (long position = passed + 1; position <= last; position++) {
                larger[slot(position, larger.length)] = events[slot(position, events.length)];
            }
            events = larger;
        }
        last++;
    }

    private static int slot(long position, int length) {
        return (int) (position & length - 1);
    }

    /** Records the event of the newest position; called after the calls that enqueue. */
    void end() {
        try {
            settle();
        } catch (JcclException e) {
            // Not the failure of this caller. The thread that asks for the position gets it, also
            // if
            // the next attempt succeeds.
            fail(e, last - 1);
        }
    }

    private void settle() {
        if (recorded < last) {
            events[slot(last, events.length)] = record();
            recorded = last;
        }
    }

    private long record() {
        TpuErrors.checkRuntime(Tpurt.tpuEventCreate(resultAddress), "tpuEventCreate");
        long event = result.getLong(0);
        TpuErrors.checkRuntime(Tpurt.tpuEventRecord(event, stream), "tpuEventRecord");
        return event;
    }

    /** The position that the next event without an operation is behind. */
    private void noteBare() {
        bare[(int) (bareCount % MOST_BARE)] = last;
        bareCount++;
    }

    /** The position behind everything that other threads have enqueued. */
    long position() {
        if (shared) {
            // Nothing shows what the other library has enqueued.
            awaitRoomForBare();
            thread.run(
                    () -> {
                        enqueued();
                        noteBare();
                        end();
                    });
        }
        return last;
    }

    /**
     * The position behind what is enqueued until the next {@link #end}, if anything is; for the
     * device's thread.
     */
    long nextPosition() {
        return recorded + 1;
    }

    /** Returns whether the queue has reached a position; waits for no call that is inside. */
    boolean reached(long position) {
        if (passed < position) {
            thread.poll();
            if (passed < position) {
                JcclException problem = unanswered;
                if (problem != null) {
                    throw problem.forCaller();
                }
                return false;
            }
        }
        Failure noticed = failure;
        if (noticed != null && position > noticed.after && position <= noticed.upTo) {
            throw noticed.cause.forCaller();
        }
        return true;
    }

    /** Returns whether the device is beyond a position; called on the device's thread. */
    boolean hasPassed(long position) {
        poll();
        return passed >= position;
    }

    /** Asks the device how far it is; called on the device's thread. Never throws. */
    void poll() {
        try {
            settle();
            while (passed < recorded && passNext()) {
                // Until an event has not passed.
                continue;
            }
            unanswered = null;
        } catch (JcclException e) {
            unanswered = e;
        }
    }

    private boolean passNext() {
        long event = events[slot(passed + 1, events.length)];
        int code = Tpurt.tpuEventQuery(event);
        if (code == PENDING || code == NOT_READY) {
            return false;
        }
        TpuErrors.checkRuntime(code, "tpuEventQuery");
        if (passed + 1 == last) {
            noteFailure(event);
        }
        passed++;
        try {
            TpuErrors.checkRuntime(Tpurt.tpuEventDestroy(event, stream), "tpuEventDestroy");
        } catch (NativeException e) {
            CleanUp.log("tpu:" + device, e);
        }
        return true;
    }

    /**
     * Asks whether operations failed on the device, which a query does not report. The native call
     * has no deadline, so it is made only for the newest event, once that has passed. A newer one
     * reports all failures since the last answer.
     */
    private void noteFailure(long event) {
        int code = Tpurt.tpuEventSynchronize(event);
        if (code != 0) {
            fail(
                    new NativeException(
                            FailureContext.NONE,
                            "libtpurt",
                            code,
                            "an operation failed on the device: " + TpuErrors.runtimeText(code)),
                    checked);
        }
        checked = last;
    }

    /** Another thread may still ask for a position before an earlier failure. */
    private void fail(JcclException cause, long after) {
        failure = new Failure(cause, failure == null ? after : failure.after, last);
    }

    /**
     * Returns whether everything that was enqueued is done. On a shared stream, adds a position and
     * returns true once that position has passed.
     */
    boolean isIdle() {
        if (!shared) {
            return reached(last);
        }
        synchronized (asking) {
            if (idleAt == 0) {
                idleAt = position();
            }
            if (!reached(idleAt)) {
                return false;
            }
            idleAt = 0;
            return true;
        }
    }

    /** Blocks until the queue has reached a position. */
    void await(long position) {
        for (long polls = 0; !reached(position); polls++) {
            requireProgress();
            Polling.pause(polls, SPINS);
        }
    }

    /** Enqueues a copy; called on the device's thread. */
    void copy(long to, long from, long bytes, DeviceRuntime.Copy direction) {
        int code =
                switch (direction) {
                    case HOST_TO_DEVICE -> Tpurt.tpuMemcpyH2DAsync(to, from, bytes, stream);
                    case DEVICE_TO_HOST -> Tpurt.tpuMemcpyD2HAsync(to, from, bytes, stream);
                    case DEVICE_TO_DEVICE -> Tpurt.tpuMemcpyD2DAsync(to, from, bytes, stream);
                };
        enqueued();
        TpuErrors.checkRuntime(code, "tpuMemcpyAsync, " + direction);
    }

    /**
     * Records when the queue reaches its current end. The stamp is a native event, which exists
     * until {@link #dropStamp}.
     */
    void stamp(TpuEvent event) {
        awaitRoomForBare();
        thread.run(
                () -> {
                    event.stamp = record();
                    // So that a later position is behind it.
                    enqueued();
                    noteBare();
                    end();
                });
    }

    /**
     * The milliseconds between two stamps that this queue has passed. The stamps must not have been
     * queried before: the runtime then has no times.
     */
    double elapsedMillis(TpuEvent start, TpuEvent end) {
        return thread.get(
                () -> {
                    for (TpuEvent event : Arrays.asList(start, end)) {
                        // Fills in the time, which a query does not.
                        TpuErrors.checkRuntime(
                                Tpurt.tpuEventSynchronize(event.stamp), "tpuEventSynchronize");
                    }
                    TpuErrors.checkRuntime(
                            Tpurt.tpuEventElapsedTime(resultAddress, start.stamp, end.stamp),
                            "tpuEventElapsedTime");
                    return (double) result.getFloat(0);
                });
    }

    /** Makes the event a position, so that it is destroyed when it has passed. */
    void dropStamp(TpuEvent event) {
        thread.run(
                () -> {
                    settle();
                    add();
                    recorded = last;
                    events[slot(last, events.length)] = event.stamp;
                    event.stamp = 0;
                });
    }

    /**
     * Limits how long threads wait for what was enqueued until now. The library has no abort, so an
     * operation may never end. A thread that waits for this queue then fails after the grace
     * period, which is not longer than the deadline of an operation.
     *
     * @param timeout the group's deadline of each operation
     */
    void abort(Duration timeout) {
        gracePeriod = timeout.compareTo(GRACE_PERIOD) < 0 ? timeout : GRACE_PERIOD;
        thread.noteAbort(gracePeriod);
        abortedPosition = last;
        abortedAt = System.nanoTime();
        aborted = true;
    }

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
