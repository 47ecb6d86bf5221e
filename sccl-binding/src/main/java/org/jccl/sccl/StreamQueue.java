package org.jccl.sccl;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;
import java.util.Arrays;
import java.util.concurrent.locks.ReentrantLock;
import org.jccl.FailureContext;
import org.jccl.JcclException;
import org.jccl.NativeException;
import org.jccl.spi.CleanUp;
import org.jccl.spi.DeviceRuntime;

/**
 * A stream of the runtime with a handle that was made from it.
 *
 * <p>Each mark is a native event that is recorded once and destroyed when it has passed: whether
 * one may be recorded again is documented nowhere. A mark that is asked for while another thread is
 * between a call and its flush is recorded by that thread, when it has flushed: the watchdog asks
 * too, and must not wait for a call that may not come back.
 *
 * <p>Locks: {@link #polling} while marks are asked for; inside it, never waited for there, {@link
 * #calls} around all that is enqueued, recorded or destroyed; inside both, for no native call, this
 * object's monitor. So a mark is seen to pass also while a call blocks.
 */
final class StreamQueue extends TpuQueue {

    /** Codes of tpuEventQuery before the event has passed; the second is the lower layer's. */
    private static final int PENDING = 2;

    private static final int NOT_READY = 1;

    final long stream;

    private final long handle;

    /** Whether others enqueue on it too, unseen. */
    private final boolean shared;

    /** Fair: a thread that enqueues without a pause, and waits for the device, leaves others in. */
    private final ReentrantLock calls = new ReentrantLock(true);

    private final Object polling = new Object();

    /** Where functions put what they create; used by who holds the calls. */
    private final Memory result = new Memory(Long.BYTES);

    private final long resultAddress = Pointer.nativeValue(result);

    /** Native events of the marks that have not passed, at their number modulo the length. */
    private long[] events = new long[64];

    /** Number of the newest mark; guarded by the monitor, as all up to the native events. */
    private long last;

    /** Number of the newest mark whose event is recorded, or is being recorded. */
    private long begun;

    /** Number of the newest mark whose event is recorded. */
    private long recorded;

    /** Events that have passed, to be destroyed by who holds the calls. */
    private long[] dead = new long[64];

    private int deadCount;

    /** Written by who polls. */
    private volatile long passed;

    /** Up to where the device was asked for failures; of who polls. */
    private long checked;

    private volatile Failure failure;

    /** Whether something came after the newest mark; set by who holds the calls. */
    private volatile boolean enqueued;

    /** Guards the next. */
    private final Object asking = new Object();

    private long asked;

    /** What went wrong last on the device, and between which marks anything did. */
    private record Failure(NativeException cause, long after, long upTo) {}

    private StreamQueue(int device, long stream, long handle, boolean shared) {
        super(device);
        this.stream = stream;
        this.handle = handle;
        this.shared = shared;
    }

    /** Creates a stream; the device must be current. */
    static StreamQueue create(int device, KernelModule module) {
        try (Memory stream = new Memory(Long.BYTES)) {
            TpuErrors.checkRuntime(
                    Tpurt.tpuStreamCreate(Pointer.nativeValue(stream)), "tpuStreamCreate");
            return around(device, stream.getLong(0), module, false);
        }
    }

    /** Takes another library's stream; the device must be current. */
    static StreamQueue share(int device, long stream, KernelModule module) {
        return around(device, stream, module, true);
    }

    private static StreamQueue around(
            int device, long stream, KernelModule module, boolean shared) {
        long kernels = module.load(stream);
        long handle = Tpudnn.tpudnnHandleFromStream(device, stream, kernels);
        if (handle == 0) {
            throw new NativeException(
                    FailureContext.NONE, "libtpudnn", 0, "tpudnnHandleFromStream gave nothing");
        }
        return new StreamQueue(device, stream, handle, shared);
    }

    @Override
    void begin() {
        calls.lock();
    }

    @Override
    void end() {
        calls.unlock();
        try {
            settle();
        } catch (JcclException e) {
            // Not this caller's: who asks for the mark tries again, and is told.
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
    long mark() {
        long mark;
        synchronized (this) {
            // One that is not recorded yet will be behind what there is now.
            if (last == begun && (enqueued || shared)) {
                // First, so that what another thread enqueues meanwhile is not forgotten.
                enqueued = false;
                add();
            }
            mark = last;
        }
        settle();
        return mark;
    }

    /**
     * Records the events of the marks that have none, and destroys those that have passed, unless
     * another thread is inside, which then does so at its end. Whoever has let go of the calls
     * comes here after that.
     */
    private void settle() {
        while (isUnsettled() && calls.tryLock()) {
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

    /** By who holds the calls. */
    private void recordWanted() {
        for (long mark = beginRecord(); mark > 0; mark = beginRecord()) {
            long event = 0;
            try {
                event = record();
            } finally {
                endRecord(mark, event);
            }
        }
    }

    /** The mark whose event is to be recorded now, or 0. */
    private synchronized long beginRecord() {
        if (begun == last) {
            return 0;
        }
        // Before the event is: what is enqueued by others from now on needs another mark.
        begun++;
        return begun;
    }

    private synchronized void endRecord(long mark, long event) {
        if (event == 0) {
            begun--;
        } else {
            events[slot(mark, events.length)] = event;
            recorded = mark;
        }
    }

    /** By who holds the calls. */
    private void destroyDead() {
        for (long event = takeDead(); event != 0; event = takeDead()) {
            try {
                TpuErrors.checkRuntime(Tpurt.tpuEventDestroy(event, stream), "tpuEventDestroy");
            } catch (NativeException e) {
                CleanUp.failed("tpu:" + device, e);
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

    /** Takes note that the oldest mark has passed. */
    private synchronized void bury(long event) {
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

    /** Makes room for one more mark; under the monitor. */
    private void add() {
        if (last - passed == events.length) {
            long[] larger = new long[2 * events.length];
            for (long mark = passed + 1; mark <= last; mark++) {
                larger[slot(mark, larger.length)] = events[slot(mark, events.length)];
            }
            events = larger;
        }
        last++;
    }

    private static int slot(long mark, int length) {
        return (int) (mark & length - 1);
    }

    @Override
    boolean reached(long mark) {
        if (passed < mark && !pass(mark)) {
            return false;
        }
        Failure noticed = failure;
        if (noticed != null && mark > noticed.after && mark <= noticed.upTo) {
            throw noticed.cause;
        }
        return true;
    }

    private boolean pass(long mark) {
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
                bury(event);
            }
        }
        settle();
        return passed >= mark;
    }

    /** The event of the oldest mark that has not passed, or 0; by who polls. */
    private synchronized long next() {
        return passed < recorded ? events[slot(passed + 1, events.length)] : 0;
    }

    private synchronized boolean isNewest(long mark) {
        return mark == last && !enqueued;
    }

    /**
     * Asks whether operations failed on the device, which a query does not tell. Only once nothing
     * is left to wait for, and while nobody enqueues: this call has no deadline.
     *
     * @return false when somebody is inside, so that it has to be asked again
     */
    private boolean noteFailure(long event) {
        if (!calls.tryLock()) {
            return false;
        }
        int code;
        try {
            if (!isNewest(passed + 1)) {
                // One that is newer will be asked, and tells of all since the last answer.
                return true;
            }
            code = Tpurt.tpuEventSynchronize(event);
        } finally {
            calls.unlock();
        }
        if (code != 0) {
            // Somebody may still be about to ask for a place before an earlier failure.
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

    /** A shared stream gets a mark to be asked for, and is asked for it until it has passed. */
    @Override
    boolean isIdle() {
        if (!shared) {
            return super.isIdle();
        }
        synchronized (asking) {
            if (asked == 0) {
                asked = mark();
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

    @Override
    void throwFailure(long mark) {
        // Whoever asked for the place was told.
    }

    /** The native event, which stays until it is dropped. */
    @Override
    void stamp(TpuEvent event) {
        begin();
        try {
            event.stamp = record();
            // So that a mark follows it.
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
                // Fills in the time, which asking does not.
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

    /** Puts it among the marks, which destroy it when it has passed. */
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

    /** Not before those that were promised, whose places are behind it. */
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
