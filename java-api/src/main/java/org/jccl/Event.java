package org.jccl;

import java.time.Duration;
import org.jccl.internal.Dependencies;
import org.jccl.internal.DeviceRuntimes;
import org.jccl.internal.StreamOrders;
import org.jccl.spi.DeviceRuntime;

/**
 * A mark on a stream: complete when what was enqueued before it is. Streams wait for it on the
 * device, the host asks with {@link #query} or blocks in {@link #synchronize}.
 *
 * <p>Safe for use by several threads; recording it again moves the mark.
 */
public final class Event implements AutoCloseable {

    private final Device device;
    private final DeviceRuntime runtime;
    private final long handle;
    private final boolean timing;
    private volatile boolean recorded;

    /** What it waits for since it was recorded. */
    private volatile Dependencies dependencies;

    private boolean closed;

    private Event(Device device, DeviceRuntime runtime, long handle, boolean timing) {
        this.device = device;
        this.runtime = runtime;
        this.handle = handle;
        this.timing = timing;
    }

    /**
     * Creates an event.
     *
     * @param device an accelerator
     * @param timing true to allow {@link #elapsed}, which makes it slower
     * @return the event, to be closed by the caller
     * @throws UsageException when the device is the CPU or there is no such device
     * @throws BackendUnavailableException when no binding drives such devices
     */
    public static Event create(Device device, boolean timing) {
        DeviceRuntime runtime = DeviceRuntimes.of(device);
        return new Event(device, runtime, runtime.createEvent(timing), timing);
    }

    /**
     * Records this event on a stream of its device.
     *
     * @param stream the stream
     * @throws UsageException when the stream is closed or of another device
     */
    public void record(Stream stream) {
        requireOpen();
        if (!stream.device().equals(device)) {
            throw new UsageException(
                    FailureContext.NONE,
                    "event of "
                            + device
                            + " can not be recorded on a stream of "
                            + stream.device());
        }
        DeviceRuntimes.enter(runtime, device);
        // Keeps another thread from destroying the stream meanwhile.
        synchronized (stream) {
            stream.requireOpen();
            Dependencies before = stream.orders().recorded(stream.handle());
            runtime.recordEvent(handle, stream.handle());
            dependencies = before;
        }
        recorded = true;
    }

    /**
     * Whether it is complete.
     *
     * @return true when it is, or was never recorded
     * @throws JcclException when it is, as {@link #synchronize} does
     */
    public boolean query() {
        requireOpen();
        return !recorded || StreamOrders.query(dependencies, () -> runtime.queryEvent(handle));
    }

    /**
     * Blocks the host until it is complete.
     *
     * @throws JcclException the failure of a group that the stream had been ordered after when this
     *     was recorded, as by {@link Stream#synchronize}
     */
    public void synchronize() {
        requireOpen();
        if (recorded) {
            StreamOrders.synchronize(dependencies, () -> runtime.synchronizeEvent(handle));
        }
    }

    /**
     * Device time from this event to another.
     *
     * @param end recorded later
     * @return the time
     * @throws UsageException when one was not made for timing, not recorded, or is not complete
     */
    public Duration elapsed(Event end) {
        requireOpen();
        end.requireOpen();
        if (!timing || !end.timing || !recorded || !end.recorded) {
            throw new UsageException(
                    FailureContext.NONE,
                    "both events must be made with timing and recorded before elapsed is asked");
        }
        if (!query() || !end.query()) {
            throw new UsageException(
                    FailureContext.NONE, "both events must be complete; synchronize the later one");
        }
        return Duration.ofNanos(Math.round(runtime.elapsedMillis(handle, end.handle) * 1e6));
    }

    /**
     * The device.
     *
     * @return the device
     */
    public Device device() {
        return device;
    }

    /**
     * The native handle.
     *
     * @return the handle
     */
    public long handle() {
        return handle;
    }

    boolean isRecorded() {
        return recorded;
    }

    Dependencies dependencies() {
        return dependencies;
    }

    private synchronized void requireOpen() {
        if (closed) {
            throw new UsageException(FailureContext.NONE, "event on " + device + " is closed");
        }
    }

    /** Destroys the event. Idempotent. */
    @Override
    public synchronized void close() {
        if (!closed) {
            closed = true;
            runtime.destroyEvent(handle);
        }
    }
}
