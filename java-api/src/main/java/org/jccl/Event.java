package org.jccl;

import java.time.Duration;
import org.bytedeco.javacpp.Pointer;

/**
 * A marker on a stream. It is complete when all commands that were enqueued before it are. Streams
 * wait for it on the device. The host queries it ({@link #query}) or blocks ({@link #synchronize}).
 *
 * <p>Thread-safe. Recording it again moves the marker.
 *
 * <p>Programs must not implement this interface: streams throw a {@link UsageException} for events
 * that were not created by its static methods, and later versions may add methods.
 */
public interface Event extends AutoCloseable {

    /**
     * Creates an event.
     *
     * @param device an accelerator
     * @param timing true to allow {@link #elapsed}; such an event is slower
     * @return the event, which the caller closes
     * @throws UsageException if the device is the CPU or does not exist
     * @throws BackendUnavailableException if no binding drives such devices
     */
    static Event create(Device device, boolean timing) {
        return Implementation.get().createEvent(device, timing);
    }

    /**
     * Wraps the event of another library. The native event must exist until this object is closed.
     *
     * <p>JCCL does not know what another library recorded in the event. Streams and the host wait
     * for it, but {@link #query} and {@link #synchronize} do not throw the failure of an earlier
     * group operation.
     *
     * @param device its device
     * @param handle the native handle, not 0
     * @param owner kept reachable as long as this object is; may be null
     * @return the event; closing it does not destroy the native one
     * @throws UsageException if the device is null, the CPU, or does not exist, or the handle is 0
     * @throws BackendUnavailableException if no binding drives such devices
     */
    static Event ofHandle(Device device, long handle, Object owner) {
        return Implementation.get().wrapEvent(device, handle, owner);
    }

    /**
     * Same as {@link #ofHandle}, for an event of JavaCPP's presets, for instance a {@code
     * CUevent_st} of CUDA.
     *
     * @param device its device
     * @param event the native event, kept reachable as long as this object is
     * @return the event; closing it does not destroy the native one
     * @throws UsageException if an argument is null or a null pointer, or the device is the CPU or
     *     does not exist
     * @throws BackendUnavailableException if no binding drives such devices
     */
    @SuppressWarnings("exports") // Only callers that have JavaCPP use it.
    static Event ofPointer(Device device, Pointer event) {
        return ofHandle(device, NativePointer.addressOf(event), event);
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
     * @throws JcclException if the event is complete, under the conditions of {@link #synchronize}
     */
    boolean query();

    /**
     * Blocks the host until this event is complete.
     *
     * @throws JcclException if a group had failed and the stream was ordered after it when this
     *     event was recorded, see {@link Stream#synchronize}
     */
    void synchronize();

    /**
     * Returns the device time from this event to another one.
     *
     * @param end an event that was recorded later
     * @return the time
     * @throws UsageException if one of the events was created without timing, was not recorded, or
     *     is not complete
     * @throws JcclException if another library created one of them without timing
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

    /**
     * Returns the native event for JavaCPP's presets: {@code new CUevent_st(event.pointer())} with
     * CUDA. The pointer owns nothing. This object must stay open while native code uses it.
     *
     * @return a pointer whose address is the native event
     */
    @SuppressWarnings("exports") // Only callers that have JavaCPP use it.
    default Pointer pointer() {
        return NativePointer.of(handle());
    }

    /** Destroys the event as soon as no thread queries it or waits for it. Idempotent. */
    @Override
    void close();
}
