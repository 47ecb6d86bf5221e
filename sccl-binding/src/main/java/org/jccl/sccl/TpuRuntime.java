package org.jccl.sccl;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;
import java.util.Arrays;
import org.jccl.FailureContext;
import org.jccl.UsageException;
import org.jccl.spi.DeviceRuntime;

/**
 * Streams, events and memory of TPUs. Thread-safe.
 *
 * <p>Each device has one stream, as in the vendor's own plugin, in which several streams hung. It
 * is the default stream, and {@link #createStream} returns it too. It is not known whether one
 * stream can wait for another on the device, so the host waits if another library's stream is
 * involved. Handles of events are numbers that this class assigns, see {@link TpuEvent}.
 */
final class TpuRuntime implements DeviceRuntime {

    /**
     * The plugin for PyTorch positions its addresses with the device, above the bits that count.
     */
    private static final long ADDRESS = (1L << 58) - 1;

    /** The current device of each thread, in an array of one element; -1 if there is none. */
    private final ThreadLocal<int[]> current = ThreadLocal.withInitial(() -> new int[] {-1});

    private final TpuQueue[] own;
    private final KernelModule module;
    private volatile StreamQueue[] others = {};
    private TpuEvent[] events = new TpuEvent[64];
    private int[] freeEvents = new int[64];
    private int freeCount;
    private int eventCount;

    /**
     * Creates the runtime of this process.
     *
     * @param deviceCount number of devices
     * @param module kernels that make handles from streams
     */
    TpuRuntime(int deviceCount, KernelModule module) {
        this.own = new TpuQueue[deviceCount];
        this.module = module;
    }

    /** The address that the runtime knows. */
    static long raw(long address) {
        return address & ADDRESS;
    }

    static void enter(int device) {
        TpuErrors.checkRuntime(Tpurt.tpuSetDevice(device), "tpuSetDevice");
    }

    /** The queue behind a stream; the device must be current. */
    TpuQueue queue(int device, long stream) {
        if (stream != 0) {
            StreamQueue known = shared(device, stream);
            return known != null ? known : share(device, stream);
        }
        TpuQueue queue;
        synchronized (own) {
            queue = own[device];
            if (queue == null) {
                queue = StreamQueue.create(device, module);
                own[device] = queue;
            }
        }
        return queue;
    }

    private StreamQueue shared(int device, long stream) {
        for (StreamQueue other : others) {
            if (other.stream == stream && other.device == device) {
                return other;
            }
        }
        return null;
    }

    private TpuQueue share(int device, long stream) {
        synchronized (own) {
            StreamQueue known = shared(device, stream);
            if (known != null) {
                // Another thread was faster. A second queue would not know half of the work.
                return known;
            }
            StreamQueue shared = StreamQueue.share(device, stream, module);
            StreamQueue[] longer = Arrays.copyOf(others, others.length + 1);
            longer[others.length] = shared;
            others = longer;
            return shared;
        }
    }

    private TpuQueue queue(long stream) {
        return queue(currentDevice(), stream);
    }

    private int currentDevice() {
        int device = current.get()[0];
        if (device < 0) {
            throw new UsageException(
                    FailureContext.NONE, "no TPU is current in this thread; name the device");
        }
        return device;
    }

    @Override
    public int deviceCount() {
        return own.length;
    }

    @Override
    public void setDevice(int device) {
        enter(device);
        current.get()[0] = device;
    }

    /** {@inheritDoc} Returns the one stream of the device. There are no priorities. */
    @Override
    public long createStream(boolean highPriority) {
        return 0;
    }

    @Override
    public void destroyStream(long stream) {
        // The device's one stream lives as long as the process.
    }

    @Override
    public boolean queryStream(long stream) {
        return queue(stream).isIdle();
    }

    @Override
    public void synchronizeStream(long stream) {
        // Not tpuStreamSynchronize: it never returns if a peer does not arrive.
        TpuQueue queue = queue(stream);
        queue.await(queue.position());
    }

    @Override
    public synchronized long createEvent(boolean timing) {
        int index = freeCount > 0 ? freeEvents[--freeCount] : eventCount++;
        if (index == events.length) {
            events = Arrays.copyOf(events, 2 * index);
        }
        events[index] = new TpuEvent(timing);
        return index + 1;
    }

    @Override
    public void destroyEvent(long event) {
        // Without the monitor, since it may wait for the call of another thread.
        drop(find(event));
        remove(event);
    }

    private synchronized void remove(long event) {
        int index = (int) event - 1;
        events[index] = null;
        if (freeCount == freeEvents.length) {
            freeEvents = Arrays.copyOf(freeEvents, 2 * freeCount);
        }
        freeEvents[freeCount++] = index;
    }

    private static void drop(TpuEvent event) {
        if (event.stamp != 0) {
            event.queue.dropStamp(event);
        }
    }

    private synchronized TpuEvent find(long event) {
        TpuEvent found = event > 0 && event <= eventCount ? events[(int) event - 1] : null;
        if (found == null) {
            throw new UsageException(FailureContext.NONE, "there is no TPU event " + event);
        }
        return found;
    }

    private TpuEvent recorded(long event) {
        TpuEvent found = find(event);
        if (found.queue == null) {
            throw new UsageException(
                    FailureContext.NONE, "TPU event " + event + " was never recorded");
        }
        return found;
    }

    @Override
    public void recordEvent(long event, long stream) {
        TpuEvent recorded = find(event);
        TpuQueue queue = queue(stream);
        synchronized (recorded) {
            if (recorded.timing) {
                drop(recorded);
                recorded.queue = queue;
                queue.stamp(recorded);
            }
            recorded.position = queue.position();
            recorded.queue = queue;
        }
    }

    /**
     * {@inheritDoc}
     *
     * <p>The host waits for an event of another stream. An event of the stream itself has passed
     * before anything that is enqueued later runs.
     */
    @Override
    public void waitEvent(long stream, long event) {
        TpuEvent awaited = recorded(event);
        TpuQueue queue = awaited.queue;
        if (queue != queue(stream)) {
            queue.await(awaited.position);
        }
    }

    @Override
    public boolean queryEvent(long event) {
        TpuEvent asked = recorded(event);
        return asked.queue.reached(asked.position);
    }

    @Override
    public void synchronizeEvent(long event) {
        TpuEvent awaited = recorded(event);
        awaited.queue.await(awaited.position);
    }

    @Override
    public double elapsedMillis(long start, long end) {
        TpuEvent from = recorded(start);
        TpuEvent to = recorded(end);
        if (from.queue != to.queue) {
            throw new UsageException(
                    FailureContext.NONE, "on a TPU, elapsed needs two events of the same stream");
        }
        return from.queue.elapsedMillis(from, to);
    }

    /**
     * {@inheritDoc}
     *
     * @throws OutOfMemoryError if the device has not enough memory left
     */
    @Override
    public long allocate(long bytes) {
        try (Memory address = new Memory(Long.BYTES)) {
            int code = Tpurt.tpuMalloc(Pointer.nativeValue(address), bytes);
            if (TpuErrors.isOutOfMemory(code)) {
                throw new OutOfMemoryError(
                        "tpuMalloc: the device has no " + bytes + " bytes of memory left");
            }
            TpuErrors.checkRuntime(code, "tpuMalloc");
            return address.getLong(0);
        }
    }

    @Override
    public void free(long address) {
        TpuErrors.checkRuntime(Tpurt.tpuFree(raw(address)), "tpuFree");
    }

    @Override
    public void copy(long to, long from, long bytes, Copy direction, long stream) {
        TpuQueue queue = queue(stream);
        long target = direction == Copy.DEVICE_TO_HOST ? to : raw(to);
        long source = direction == Copy.HOST_TO_DEVICE ? from : raw(from);
        queue.copy(target, source, bytes, direction);
    }
}
