package org.jccl;

import java.time.Duration;

/**
 * A marker on a stream. It is complete when all commands that were enqueued before it are. Streams
 * wait for it on the device. The host queries it ({@link #query}) or blocks ({@link #synchronize}).
 *
 * <p>Thread-safe. Recording it again moves the marker.
 *
 * <p>Programs must not implement this interface: streams throw a {@link UsageException} for events
 * that were not created by {@link #create}, and later versions may add methods.
 */
public interface Event extends AutoCloseable {

    /**
     * Creates an event.
     *
     * @param device an accelerator
     * @param timing true to allow {@link #elapsed}, which makes the event slower
     * @return the event, which the caller closes
     * @throws UsageException if the device is the CPU or does not exist
     * @throws BackendUnavailableException if no binding drives such devices
     */
    static Event create(Device device, boolean timing) {
        return Implementation.get().createEvent(device, timing);
    }

    /**
     * Records this event on a stream of its device.
     *
     * @param stream the stream
     * @throws UsageException if this event or the stream is closed, or the stream belongs to
     *     another device
     */
    void record(Stream stream);

    /**
     * Returns whether this event is complete.
     *
     * @return true if it is, or was never recorded
     * @throws JcclException if it is, under the conditions of {@link #synchronize}
     */
    boolean query();

    /**
     * Blocks the host until this event is complete.
     *
     * @throws JcclException the failure of a group after which the stream was ordered when this
     *     event was recorded, see {@link Stream#synchronize}
     */
    void synchronize();

    /**
     * Returns the device time from this event to another one.
     *
     * @param end an event that was recorded later
     * @return the time
     * @throws UsageException if one of them was created without timing, not recorded, or is not
     *     complete
     */
    Duration elapsed(Event end);

    /**
     * Returns the device.
     *
     * @return the device
     */
    Device device();

    /**
     * Returns the native handle.
     *
     * @return the handle
     */
    long handle();

    /** Destroys the event, once no thread queries it or waits for it. Idempotent. */
    @Override
    void close();
}
