package org.jccl.sccl;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.jccl.FailureContext;
import org.jccl.JcclException;
import org.jccl.NativeException;
import org.jccl.spi.DeviceRuntime;

/**
 * A stream of the runtime with a handle that was made from it.
 *
 * <p>Each mark is a native event that is recorded once and destroyed when it has passed: whether
 * one may be recorded again is documented nowhere. A mark that is asked for while another thread is
 * between a call and its flush is recorded by that thread, when it has flushed: the watchdog asks
 * too, and must not wait for a call that may not come back.
 *
 * <p>Locks: {@link #calls} around all that is enqueued, recorded or destroyed; inside it, for no
 * native call, this object's monitor.
 */
final class StreamQueue extends TpuQueue {

    /** Codes of tpuEventQuery before the event has passed; the second is the lower layer's. */
    private static final int PENDING = 2;

    private static final int NOT_READY = 1;

    /** For another thread's call, longer than one takes that does not block. */
    private static final long MOST_WAIT_NANOS = 1_000_000;

    final long stream;

    private final long handle;

    /** Whether others enqueue on it too, unseen. */
    private final boolean shared;

    private final ReentrantLock calls = new ReentrantLock();

    /** Where functions put what they create; used by who holds the calls. */
    private final Memory result = new Memory(Long.BYTES);

    private final long resultAddress = Pointer.nativeValue(result);

    /** Native events of the marks that have not passed, at their number modulo the length. */
    private long[] events = new long[64];

    /** Number of the newest mark; guarded by the monitor, as the next and the events. */
    private long last;

    /** Number of the newest mark whose event was recorded, or is now. */
    private long recorded;

    /** Written by who holds the calls. */
    private volatile long passed;

    /** Up to where the device was asked for failures; of who holds the calls. */
    private long checked;

    private volatile Failure failure;

    /** Whether something came after the newest mark; set by who holds the calls. */
    private volatile boolean enqueued;

    /** Guards the next. */
    private final Object asking = new Object();

    private long asked;

    /** What went wrong on the device between two marks. */
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
            recordMarks();
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
            if (last == recorded && (enqueued || shared)) {
                // First, so that what another thread enqueues meanwhile is not forgotten.
                enqueued = false;
                add();
            }
            mark = last;
        }
        recordMarks();
        return mark;
    }

    /**
     * Records the events of the marks that have none, unless another thread is inside, which then
     * does so at its end. Whoever has let go of the calls comes here after that.
     */
    private void recordMarks() {
        while (isMarkWanted() && calls.tryLock()) {
            try {
                recordWanted();
            } finally {
                calls.unlock();
            }
        }
    }

    private synchronized boolean isMarkWanted() {
        return recorded < last;
    }

    /** By who holds the calls. */
    private void recordWanted() {
        while (true) {
            long mark;
            synchronized (this) {
                if (recorded == last) {
                    return;
                }
                // Before the event is: what is enqueued by others from now on needs another mark.
                recorded++;
                mark = recorded;
            }
            long event = 0;
            try {
                event = record();
            } finally {
                synchronized (this) {
                    if (event == 0) {
                        recorded--;
                    } else {
                        events[slot(mark, events.length)] = event;
                    }
                }
            }
        }
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

    /** While another thread is inside for long, what has passed since is not known. */
    private boolean pass(long mark) {
        if (!beginSoon()) {
            return passed >= mark;
        }
        try {
            TpuRuntime.enter(device);
            recordWanted();
            for (long event = next(); event != 0; event = next()) {
                int code = Tpurt.tpuEventQuery(event);
                if (code == PENDING || code == NOT_READY) {
                    break;
                }
                TpuErrors.checkRuntime(code, "tpuEventQuery");
                if (isNewest(passed + 1)) {
                    noteFailure(event);
                }
                TpuErrors.checkRuntime(Tpurt.tpuEventDestroy(event, stream), "tpuEventDestroy");
                passed++;
            }
            return passed >= mark;
        } finally {
            end();
        }
    }

    private boolean beginSoon() {
        try {
            return calls.tryLock() || calls.tryLock(MOST_WAIT_NANOS, TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return calls.tryLock();
        }
    }

    /** The event of the oldest mark that has not passed, or 0; by who holds the calls. */
    private synchronized long next() {
        return passed < recorded ? events[slot(passed + 1, events.length)] : 0;
    }

    private synchronized boolean isNewest(long mark) {
        return mark == last && !enqueued;
    }

    /**
     * Asks whether operations failed on the device, which a query does not tell. Only once nothing
     * is left to wait for: this call has no deadline.
     */
    private void noteFailure(long event) {
        int code = Tpurt.tpuEventSynchronize(event);
        if (code != 0) {
            failure =
                    new Failure(
                            new NativeException(
                                    FailureContext.NONE,
                                    "libtpurt",
                                    code,
                                    "an operation failed on the device: "
                                            + TpuErrors.runtimeText(code)),
                            checked,
                            passed + 1);
        }
        checked = passed + 1;
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
    void throwFailure() {
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
        recorded = last;
        events[slot(last, events.length)] = event;
        return true;
    }
}
