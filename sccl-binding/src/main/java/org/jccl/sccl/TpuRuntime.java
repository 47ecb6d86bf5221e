package org.jccl.sccl;

import java.util.Arrays;
import org.jccl.FailureContext;
import org.jccl.GroupAbortedException;
import org.jccl.UsageException;
import org.jccl.spi.CleanUp;
import org.jccl.spi.DeviceRuntime;

/**
 * Streams, events and memory of TPUs. Thread-safe.
 *
 * <p>Each device has one stream, as in the vendor's own plugin, in which several streams hung. It
 * is the default stream, and {@link #createStream} returns it too. It is not known whether one
 * stream can wait for another on the device, so the host waits if another library's stream is
 * involved. Handles of events are numbers that this class assigns, see {@link TpuEvent}.
 *
 * <p>The {@link DeviceThread} of a device makes all native calls.
 */
final class TpuRuntime implements DeviceRuntime {

    /**
     * The plugin for PyTorch positions its addresses with the device, above the bits that count.
     */
    static final long ADDRESS = (1L << 58) - 1;

    /** The current device of each thread, in an array of one element; -1 if there is none. */
    private final ThreadLocal<int[]> current = ThreadLocal.withInitial(() -> new int[] {-1});

    private final Object entering = new Object();
    private final TpuDevice[] devices;
    private final KernelModule module;
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
        this.devices = new TpuDevice[deviceCount];
        this.module = module;
    }

    /** The address that the runtime knows. */
    static long raw(long address) {
        return address & ADDRESS;
    }

    /** A device of this process, whose thread is started by the first call. */
    TpuDevice device(int index) {
        synchronized (devices) {
            if (devices[index] == null) {
                devices[index] = new TpuDevice(index, module, () -> enter(index));
            }
            return devices[index];
        }
    }

    /** On the device's thread. One thread at a time: the runtime's table of threads has no lock. */
    private void enter(int index) {
        synchronized (entering) {
            TpuErrors.checkRuntime(Tpurt.tpuSetDevice(index), "tpuSetDevice");
        }
        current.get()[0] = index;
    }

    private TpuQueue queue(long stream) {
        return currentDevice().queue(stream);
    }

    private TpuDevice currentDevice() {
        int device = current.get()[0];
        if (device < 0) {
            throw new UsageException(
                    FailureContext.NONE, "no TPU is current in this thread; name the device");
        }
        return device(device);
    }

    @Override
    public int deviceCount() {
        return devices.length;
    }

    /** {@inheritDoc} Calls nothing: only the device's own thread sets its device in the runtime. */
    @Override
    public void setDevice(int device) {
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
        TpuDevice device = currentDevice();
        long address = device.thread.get(() -> device.memory.allocate(bytes));
        if (address == 0) {
            throw new OutOfMemoryError(
                    "tpuMalloc: tpu:"
                            + device.index
                            + " has no "
                            + bytes
                            + " bytes of memory left");
        }
        return address;
    }

    /** {@inheritDoc} If a call of an aborted group never returns, the memory is not freed. */
    @Override
    public void free(long address) {
        TpuDevice device = currentDevice();
        try {
            device.thread.run(() -> device.memory.free(address));
        } catch (GroupAbortedException e) {
            CleanUp.log("memory of tpu:" + device.index + " is not freed", e);
        }
    }

    @Override
    public void copy(long to, long from, long bytes, Copy direction, long stream) {
        TpuDevice device = currentDevice();
        TpuQueue queue = device.queue(stream);
        queue.awaitRoom();
        device.thread.run(
                () -> {
                    long target = to;
                    long source = from;
                    if (direction != Copy.DEVICE_TO_HOST) {
                        device.memory.check(to, bytes);
                        target = raw(to);
                    }
                    if (direction != Copy.HOST_TO_DEVICE) {
                        device.memory.check(from, bytes);
                        source = raw(from);
                    }
                    try {
                        queue.copy(target, source, bytes, direction);
                    } finally {
                        queue.end();
                    }
                });
    }
}
