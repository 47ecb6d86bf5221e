package org.jccl;

import java.time.Duration;

/**
 * A mark on a stream: complete when what was enqueued before it is. Streams wait for it on the
 * device, the host asks with {@link #query} or blocks in {@link #synchronize}.
 *
 * <p>Safe for use by several threads; recording it again moves the mark.
 *
 * <p>Programs do not implement this interface: streams refuse events that were not made by {@link
 * #create} with a {@link UsageException}, and later versions may add methods.
 */
public interface Event extends AutoCloseable {

    /**
     * Creates an event.
     *
     * @param device an accelerator
     * @param timing true to allow {@link #elapsed}, which makes it slower
     * @return the event, to be closed by the caller
     * @throws UsageException when the device is the CPU or there is no such device
     * @throws BackendUnavailableException when no binding drives such devices
     */
    static Event create(Device device, boolean timing) {
        return Implementation.get().createEvent(device, timing);
    }

    /**
     * Records this event on a stream of its device.
     *
     * @param stream the stream
     * @throws UsageException when this or the stream is closed, or the stream is of another device
     */
    void record(Stream stream);

    /**
     * Whether it is complete.
     *
     * @return true when it is, or was never recorded
     * @throws JcclException when it is, as {@link #synchronize} does
     */
    boolean query();

    /**
     * Blocks the host until it is complete.
     *
     * @throws JcclException the failure of a group that the stream had been ordered after when this
     *     was recorded, as by {@link Stream#synchronize}
     */
    void synchronize();

    /**
     * Device time from this event to another.
     *
     * @param end recorded later
     * @return the time
     * @throws UsageException when one was not made for timing, not recorded, or is not complete
     */
    Duration elapsed(Event end);

    /**
     * The device.
     *
     * @return the device
     */
    Device device();

    /**
     * The native handle.
     *
     * @return the handle
     */
    long handle();

    /** Destroys the event, once no thread asks or waits for it. Idempotent. */
    @Override
    void close();
}
