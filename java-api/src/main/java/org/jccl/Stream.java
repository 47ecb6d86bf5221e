package org.jccl;

/**
 * A device's queue of commands that run in order. Each thread has a current stream for each device,
 * at first the device's default stream; collectives order themselves after what is on it.
 *
 * <p>The host is blocked by {@link #synchronize} only. Safe for use by several threads.
 *
 * <p>Programs do not implement this interface: {@link Event#record} refuses streams that were not
 * made by its static methods with a {@link UsageException}, and later versions may add methods.
 */
public interface Stream extends AutoCloseable {

    /**
     * Creates a stream.
     *
     * @param device an accelerator
     * @param highPriority true for the highest priority the device has
     * @return the stream, to be closed by the caller
     * @throws UsageException when the device is the CPU or there is no such device
     * @throws BackendUnavailableException when no binding drives such devices
     */
    static Stream create(Device device, boolean highPriority) {
        return Implementation.get().createStream(device, highPriority);
    }

    /**
     * Wraps another library's stream, so that it can be the current one. The native stream must
     * exist until this object is closed.
     *
     * @param device its device
     * @param handle the native handle; 0 is the default stream
     * @param owner kept reachable as long as this object is; may be null
     * @return the stream; closing it does not destroy the native one
     * @throws UsageException when the device is the CPU or there is no such device
     * @throws BackendUnavailableException when no binding drives such devices
     */
    static Stream ofHandle(Device device, long handle, Object owner) {
        return Implementation.get().wrapStream(device, handle, owner);
    }

    /**
     * The calling thread's current stream on a device.
     *
     * @param device an accelerator
     * @return the default stream unless another was set by {@link #use}
     * @throws UsageException when the device is the CPU or there is no such device
     * @throws BackendUnavailableException when no binding drives such devices
     */
    static Stream current(Device device) {
        return Implementation.get().currentStream(device);
    }

    /**
     * Makes this the calling thread's current stream until the result is closed, in the same
     * thread. The native stream exists at least until then.
     *
     * @return restores the stream that was current before
     * @throws UsageException when it is closed
     */
    Scope use();

    /** A time during which a stream is current. */
    interface Scope extends AutoCloseable {
        /** Makes the stream current that was so before. */
        @Override
        void close();
    }

    /**
     * Makes what is enqueued later on this stream wait for an event. The host goes on.
     *
     * @param event recorded before; an event that never was is complete
     * @throws UsageException when the stream or the event is closed
     */
    void waitEvent(Event event);

    /**
     * Whether everything that was enqueued is done.
     *
     * @return true when it is
     * @throws JcclException when it is, as {@link #synchronize} does
     */
    boolean query();

    /**
     * Whether what is enqueued is captured into a graph rather than run.
     *
     * @return false also where the device has no graphs
     */
    boolean isCapturing();

    /**
     * Blocks the host until everything that was enqueued is done.
     *
     * @throws JcclException the failure of a group that this stream was ordered after, by {@link
     *     Work#await}, a synchronous call or an event: what is done then is not right. It is thrown
     *     until the group is closed, and at least once
     */
    void synchronize();

    /**
     * The native handle.
     *
     * @return 0 for the default stream
     */
    long handle();

    /**
     * The device.
     *
     * @return the device
     */
    Device device();

    /**
     * Destroys a stream that was created here; what was enqueued still runs. While it is current in
     * a thread, or a thread asks or waits for it, the last one of them destroys it. Idempotent.
     */
    @Override
    void close();
}
