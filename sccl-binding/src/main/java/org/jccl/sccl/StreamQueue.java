package org.jccl.sccl;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;
import java.util.Arrays;
import org.jccl.FailureContext;
import org.jccl.NativeException;
import org.jccl.spi.DeviceRuntime;

/**
 * A stream of the runtime with a handle that was made from it.
 *
 * <p>Each mark is a native event that is recorded once and destroyed when it has passed: whether
 * one may be recorded again is documented nowhere.
 */
final class StreamQueue extends TpuQueue {

    /** Codes of tpuEventQuery before the event has passed; the second is the lower layer's. */
    private static final int PENDING = 2;

    private static final int NOT_READY = 1;

    final long stream;

    private final long handle;

    /** Whether others enqueue on it too, unseen. */
    private final boolean shared;

    /** Where functions put what they create; used under this object's monitor. */
    private final Memory result = new Memory(Long.BYTES);

    private final long resultAddress = Pointer.nativeValue(result);

    /** Native events of the marks that have not passed, at their number modulo the length. */
    private long[] events = new long[64];

    private volatile long passed;
    private long last;
    private long checked;
    private long asked;
    private volatile Failure failure;
    private volatile boolean enqueued;

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
    long handle() {
        return handle;
    }

    /** Instructions wait in a cache of the handle until they are flushed. */
    @Override
    void push() {
        try {
            TpuErrors.checkDnn(Tpudnn.tpudnnFlush(handle), "tpudnnFlush");
        } finally {
            // Only now: an event that another thread records before the flush is passed too early
            // to be the mark of what the flush enqueues.
            enqueued = true;
        }
    }

    @Override
    synchronized long mark() {
        if (enqueued || shared) {
            // First, so that what another thread enqueues meanwhile is not forgotten.
            enqueued = false;
            add(record());
        }
        return last;
    }

    private long record() {
        TpuErrors.checkRuntime(Tpurt.tpuEventCreate(resultAddress), "tpuEventCreate");
        long event = result.getLong(0);
        TpuErrors.checkRuntime(Tpurt.tpuEventRecord(event, stream), "tpuEventRecord");
        return event;
    }

    private void add(long event) {
        if (last - passed == events.length) {
            long[] larger = new long[2 * events.length];
            for (long mark = passed + 1; mark <= last; mark++) {
                larger[slot(mark, larger.length)] = events[slot(mark, events.length)];
            }
            events = larger;
        }
        last++;
        events[slot(last, events.length)] = event;
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

    private synchronized boolean pass(long mark) {
        TpuRuntime.enter(device);
        while (passed < last) {
            long event = events[slot(passed + 1, events.length)];
            int code = Tpurt.tpuEventQuery(event);
            if (code == PENDING || code == NOT_READY) {
                break;
            }
            TpuErrors.checkRuntime(code, "tpuEventQuery");
            if (passed + 1 == last && !enqueued) {
                noteFailure(event);
            }
            TpuErrors.checkRuntime(Tpurt.tpuEventDestroy(event, stream), "tpuEventDestroy");
            passed++;
        }
        return passed >= mark;
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
                            last);
        }
        checked = last;
    }

    /** A shared stream gets a mark to be asked for, and is asked for it until it has passed. */
    @Override
    synchronized boolean isIdle() {
        if (!shared) {
            return super.isIdle();
        }
        if (asked == 0) {
            asked = mark();
        }
        if (!reached(asked)) {
            return false;
        }
        asked = 0;
        return true;
    }

    @Override
    void copy(long to, long from, long bytes, DeviceRuntime.Copy direction) {
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
    void copyBetweenCalls(long to, long from, long bytes) {
        copy(to, from, bytes, DeviceRuntime.Copy.DEVICE_TO_DEVICE);
    }

    @Override
    void throwFailure() {
        // Whoever asked for the place was told.
    }

    /** The native event, which stays until it is dropped. */
    @Override
    synchronized void stamp(TpuEvent event) {
        event.stamp = record();
        // So that a mark follows it.
        enqueued = true;
    }

    @Override
    synchronized double elapsedMillis(TpuEvent start, TpuEvent end) {
        for (TpuEvent event : Arrays.asList(start, end)) {
            // Fills in the time, which asking does not.
            TpuErrors.checkRuntime(Tpurt.tpuEventSynchronize(event.stamp), "tpuEventSynchronize");
        }
        TpuErrors.checkRuntime(
                Tpurt.tpuEventElapsedTime(resultAddress, start.stamp, end.stamp),
                "tpuEventElapsedTime");
        return result.getFloat(0);
    }

    /** Puts it among the marks, which destroy it when it has passed. */
    @Override
    synchronized void dropStamp(TpuEvent event) {
        add(event.stamp);
        event.stamp = 0;
    }
}
