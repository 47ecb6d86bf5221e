package org.jccl.sccl;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;
import java.time.Duration;
import java.util.Arrays;
import org.jccl.FailureContext;
import org.jccl.GroupAbortedException;
import org.jccl.JcclException;
import org.jccl.NativeException;
import org.jccl.spi.CallLock;
import org.jccl.spi.CleanUp;
import org.jccl.spi.DeviceRuntime;

/**
 * A stream of the runtime with a handle that was made from it.
 *
 * <p>Each position is a native event that is recorded once, and destroyed when it has passed. The
 * vendor does not document whether an event may be recorded again. If a thread asks for a position
 * while another thread is between a call and its flush, the other thread records the event after
 * its flush. The watchdog asks too, and must not wait for a call that may never return.
 *
 * <p>Lock order: {@link #polling}, while events are queried; then {@link #calls}, while anything is
 * enqueued, recorded or destroyed; then the monitor of this object, never during a native call. A
 * thread that holds {@link #polling} only tries to lock {@link #calls}, so events are also seen to
 * pass while a call blocks.
 */
final class StreamQueue extends TpuQueue {

    /** Codes of tpuEventQuery before the event has passed. */
    private static final int PENDING = 2;

    /** The same from the lower layer of the runtime. */
    private static final int NOT_READY = 1;

    final long stream;

    private final long handle;

    /** Whether another library enqueues on the stream too. */
    private final boolean shared;

    /** Fair, so that a thread that enqueues without a pause does not exclude the others. */
    private final CallLock calls = new CallLock(this::isAbandoned, true);

    /** The number of the call that has the call lock, or had it last. Written under it. */
    private volatile long call;

    /** A call, and when threads no longer wait for it. */
    private record Limit(long call, long nanos) {}

    /** The limit of the call that was inside when a group was aborted, or null. */
    private volatile Limit limit;

    private final Object polling = new Object();

    /** Where functions write their results. Guarded by {@link #calls}. */
    private final Memory result = new Memory(Long.BYTES);

    private final long resultAddress = Pointer.nativeValue(result);

    /** Native events of the positions that have not passed, at their number modulo the length. */
    private long[] events = new long[64];

    /** The newest position. Guarded by the monitor, as the fields down to {@link #deadCount}. */
    private long last;

    /** The newest position whose event is recorded or is being recorded. */
    private long begun;

    /** The newest position whose event is recorded. */
    private long recorded;

    /** Events that have passed and are not destroyed yet, which needs the call lock. */
    private long[] dead = new long[64];

    private int deadCount;

    /** The newest position that has passed. Written under {@link #polling}. */
    private volatile long passed;

    /** The position up to which the device was asked for failures. Guarded by {@link #polling}. */
    private long checked;

    private volatile Failure failure;

    /** Whether something was enqueued after the newest position. Set under {@link #calls}. */
    private volatile boolean enqueued;

    /** Guards {@link #asked}. */
    private final Object asking = new Object();

    /** The position that {@link #isIdle} waits for on a shared stream, or 0. */
    private long asked;

    /** The last failure on the device, and the positions between which failures happened. */
    private record Failure(NativeException cause, long after, long upTo) {}

    private StreamQueue(int device, long stream, KernelModule module, boolean shared) {
        super(device);
        this.stream = stream;
        this.shared = shared;
        long kernels = module.load(stream);
        this.handle = Tpudnn.tpudnnHandleFromStream(device, stream, kernels);
        if (handle == 0) {
            throw new NativeException(
                    FailureContext.NONE, "libtpudnn", 0, "tpudnnHandleFromStream returned null");
        }
    }

    /** Creates a stream; the device must be current. */
    static StreamQueue create(int device, KernelModule module) {
        try (Memory stream = new Memory(Long.BYTES)) {
            TpuErrors.checkRuntime(
                    Tpurt.tpuStreamCreate(Pointer.nativeValue(stream)), "tpuStreamCreate");
            return new StreamQueue(device, stream.getLong(0), module, false);
        }
    }

    /** Wraps another library's stream; the device must be current. */
    static StreamQueue share(int device, long stream, KernelModule module) {
        return new StreamQueue(device, stream, module, true);
    }

    @Override
    void begin() {
        if (!calls.lock()) {
            throw new GroupAbortedException(
                    FailureContext.NONE,
                    "tpu:"
                            + device
                            + " is blocked by a thread inside a call of an aborted group, and the"
                            + " call does not return: start this process again");
        }
        call++;
    }

    private boolean tryBegin() {
        if (!calls.tryLock()) {
            return false;
        }
        call++;
        return true;
    }

    @Override
    void noteAbort(Duration grace) {
        limit = new Limit(call, System.nanoTime() + grace.toNanos());
    }

    /**
     * Returns whether the call that was inside at an abort is still there, and has had its time.
     */
    private boolean isAbandoned() {
        Limit known = limit;
        return known != null && known.call == call && System.nanoTime() - known.nanos >= 0;
    }

    @Override
    void end() {
        calls.unlock();
        try {
            settle();
        } catch (JcclException e) {
            // Not the failure of this caller. The thread that asks for the position gets it.
        }
    }

    @Override
    long handle() {
        return handle;
    }

    /** Instructions wait in a cache of the handle until they are flushed. */
    @Override
    void push() {
        try {
            TpuErrors.checkDnn(Tpudnn.tpudnnFlush(handle), "tpudnnFlush");
        } finally {
            enqueued = true;
        }
    }

    @Override
    long position() {
        long position;
        synchronized (this) {
            // A position that is not recorded yet will be behind everything that was enqueued.
            if (last == begun && (enqueued || shared)) {
                // Cleared first, so that work that another thread enqueues meanwhile is noticed.
                enqueued = false;
                add();
            }
            position = last;
        }
        settle();
        return position;
    }

    /**
     * Records the events of the positions that have none, and destroys those that have passed. Does
     * nothing while another thread holds the call lock: each thread calls this method after it has
     * released the lock.
     */
    private void settle() {
        while (isUnsettled() && tryBegin()) {
            try {
                recordWanted();
                destroyDead();
            } finally {
                calls.unlock();
            }
        }
    }

    private synchronized boolean isUnsettled() {
        return begun < last || deadCount > 0;
    }

    /** Called with the call lock. */
    private void recordWanted() {
        for (long position = beginRecord(); position > 0; position = beginRecord()) {
            long event = 0;
            try {
                event = record();
            } finally {
                endRecord(position, event);
            }
        }
    }

    /** The position whose event must be recorded now, or 0. */
    private synchronized long beginRecord() {
        if (begun == last) {
            return 0;
        }
        // Before the event is recorded: work enqueued from now on needs another position.
        begun++;
        return begun;
    }

    private synchronized void endRecord(long position, long event) {
        if (event == 0) {
            begun--;
        } else {
            events[slot(position, events.length)] = event;
            recorded = position;
        }
    }

    /** Called with the call lock. */
    private void destroyDead() {
        for (long event = takeDead(); event != 0; event = takeDead()) {
            try {
                TpuErrors.checkRuntime(Tpurt.tpuEventDestroy(event, stream), "tpuEventDestroy");
            } catch (NativeException e) {
                CleanUp.log("tpu:" + device, e);
            }
        }
    }

    private synchronized long takeDead() {
        if (deadCount == 0) {
            return 0;
        }
        deadCount--;
        return dead[deadCount];
    }

    /** Counts the oldest position as passed, and queues its event for destruction. */
    private synchronized void retire(long event) {
        if (deadCount == dead.length) {
            dead = Arrays.copyOf(dead, 2 * deadCount);
        }
        dead[deadCount] = event;
        deadCount++;
        passed++;
    }

    private long record() {
        TpuErrors.checkRuntime(Tpurt.tpuEventCreate(resultAddress), "tpuEventCreate");
        long event = result.getLong(0);
        TpuErrors.checkRuntime(Tpurt.tpuEventRecord(event, stream), "tpuEventRecord");
        return event;
    }

    /** Adds a position, and makes room for its event. Called with the monitor. */
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

    @Override
    boolean reached(long position) {
        if (passed < position && !pass(position)) {
            return false;
        }
        Failure noticed = failure;
        if (noticed != null && position > noticed.after && position <= noticed.upTo) {
            throw noticed.cause;
        }
        return true;
    }

    private boolean pass(long position) {
        TpuRuntime.enter(device);
        settle();
        synchronized (polling) {
            for (long event = next(); event != 0; event = next()) {
                int code = Tpurt.tpuEventQuery(event);
                if (code == PENDING || code == NOT_READY) {
                    break;
                }
                TpuErrors.checkRuntime(code, "tpuEventQuery");
                if (isNewest(passed + 1) && !noteFailure(event)) {
                    break;
                }
                retire(event);
            }
        }
        settle();
        return passed >= position;
    }

    /**
     * The event of the oldest position that has not passed, or 0. Called under {@link #polling}.
     */
    private synchronized long next() {
        return passed < recorded ? events[slot(passed + 1, events.length)] : 0;
    }

    private synchronized boolean isNewest(long position) {
        return position == last && !enqueued;
    }

    /**
     * Asks whether operations failed on the device, which a query does not report. The native call
     * has no deadline, so it is made only when nothing is left to wait for and no thread enqueues.
     *
     * @return false if another thread holds the call lock, so that the caller must ask again
     */
    private boolean noteFailure(long event) {
        if (!tryBegin()) {
            return false;
        }
        int code;
        try {
            if (!isNewest(passed + 1)) {
                // A newer event will be asked, and reports all failures since the last answer.
                return true;
            }
            code = Tpurt.tpuEventSynchronize(event);
        } finally {
            calls.unlock();
        }
        if (code != 0) {
            // Another thread may still ask for a position before an earlier failure.
            long after = failure == null ? checked : failure.after;
            failure =
                    new Failure(
                            new NativeException(
                                    FailureContext.NONE,
                                    "libtpurt",
                                    code,
                                    "an operation failed on the device: "
                                            + TpuErrors.runtimeText(code)),
                            after,
                            passed + 1);
        }
        checked = passed + 1;
        return true;
    }

    /** On a shared stream, adds a position and returns true once that position has passed. */
    @Override
    boolean isIdle() {
        if (!shared) {
            return super.isIdle();
        }
        synchronized (asking) {
            if (asked == 0) {
                asked = position();
            }
            if (!reached(asked)) {
                return false;
            }
            asked = 0;
            return true;
        }
    }

    @Override
    void copy(long to, long from, long bytes, DeviceRuntime.Copy direction) {
        begin();
        try {
            enqueueCopy(to, from, bytes, direction);
        } finally {
            end();
        }
    }

    @Override
    void copyBetweenCalls(long to, long from, long bytes) {
        enqueueCopy(to, from, bytes, DeviceRuntime.Copy.DEVICE_TO_DEVICE);
    }

    private void enqueueCopy(long to, long from, long bytes, DeviceRuntime.Copy direction) {
        int code =
                switch (direction) {
                    case HOST_TO_DEVICE -> Tpurt.tpuMemcpyH2DAsync(to, from, bytes, stream);
                    case DEVICE_TO_HOST -> Tpurt.tpuMemcpyD2HAsync(to, from, bytes, stream);
                    case DEVICE_TO_DEVICE -> Tpurt.tpuMemcpyD2DAsync(to, from, bytes, stream);
                };
        enqueued = true;
        TpuErrors.checkRuntime(code, "tpuMemcpyAsync, " + direction);
    }

    /** The stamp is a native event, which exists until {@link #dropStamp}. */
    @Override
    void stamp(TpuEvent event) {
        begin();
        try {
            event.stamp = record();
            // So that a later position is behind it.
            enqueued = true;
        } finally {
            end();
        }
    }

    @Override
    double elapsedMillis(TpuEvent start, TpuEvent end) {
        begin();
        try {
            for (TpuEvent event : Arrays.asList(start, end)) {
                // Fills in the time, which a query does not.
                TpuErrors.checkRuntime(
                        Tpurt.tpuEventSynchronize(event.stamp), "tpuEventSynchronize");
            }
            TpuErrors.checkRuntime(
                    Tpurt.tpuEventElapsedTime(resultAddress, start.stamp, end.stamp),
                    "tpuEventElapsedTime");
            return result.getFloat(0);
        } finally {
            end();
        }
    }

    /** Makes the event a position, so that it is destroyed when it has passed. */
    @Override
    void dropStamp(TpuEvent event) {
        begin();
        try {
            while (!addRecorded(event.stamp)) {
                recordWanted();
            }
            event.stamp = 0;
        } finally {
            end();
        }
    }

    /** Returns false if events of older positions are not recorded yet. */
    private synchronized boolean addRecorded(long event) {
        if (recorded < last) {
            return false;
        }
        add();
        begun = last;
        recorded = last;
        events[slot(last, events.length)] = event;
        return true;
    }
}
