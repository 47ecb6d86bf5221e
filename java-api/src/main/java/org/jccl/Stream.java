package org.jccl;

import org.bytedeco.javacpp.Pointer;

/**
 * A queue of commands of a device that run in order. Each thread has a current stream for each
 * device, initially the default stream of the device. Collectives run after the earlier commands of
 * the current stream.
 *
 * <p>Only {@link #synchronize} blocks the host. Thread-safe.
 *
 * <p>Programs must not implement this interface: {@link Event#record} throws a {@link
 * UsageException} for streams that were not created by its static methods, and later versions may
 * add methods.
 */
public interface Stream extends AutoCloseable {

    /**
     * Creates a stream.
     *
     * @param device an accelerator
     * @param highPriority true for the highest priority of the device
     * @return the stream, which the caller closes
     * @throws UsageException if the device is the CPU or does not exist
     * @throws BackendUnavailableException if no binding drives such devices
     */
    static Stream create(Device device, boolean highPriority) {
        return Implementation.get().createStream(device, highPriority);
    }

    /**
     * Wraps the stream of another library, so that it can be the current stream. The native stream
     * must exist until this object is closed.
     *
     * @param device its device
     * @param handle the native handle; 0 is the default stream
     * @param owner kept reachable as long as this object is; may be null
     * @return the stream; closing it does not destroy the native one
     * @throws UsageException if the device is the CPU or does not exist
     * @throws BackendUnavailableException if no binding drives such devices
     */
    static Stream ofHandle(Device device, long handle, Object owner) {
        return Implementation.get().wrapStream(device, handle, owner);
    }

    /**
     * Wraps a stream of JavaCPP's presets, for instance a {@code CUstream_st} of CUDA, so that it
     * can be the current stream. The native stream must exist until this object is closed.
     *
     * @param device its device
     * @param stream the native stream, kept reachable as long as this object is; null, or a null
     *     pointer, is the default stream
     * @return the stream; closing it does not destroy the native one
     * @throws UsageException if the device is null, the CPU, or does not exist
     * @throws BackendUnavailableException if no binding drives such devices
     */
    @SuppressWarnings("exports") // Only callers that have JavaCPP use it.
    static Stream ofPointer(Device device, Pointer stream) {
        return ofHandle(device, NativePointer.addressOf(stream), stream);
    }

    /**
     * Returns the current stream of the calling thread on a device.
     *
     * @param device an accelerator
     * @return the default stream unless {@link #use} set another one
     * @throws UsageException if the device is the CPU or does not exist
     * @throws BackendUnavailableException if no binding drives such devices
     */
    static Stream current(Device device) {
        return Implementation.get().currentStream(device);
    }

    /**
     * Makes this the current stream of the calling thread until the returned scope is closed in the
     * same thread. The native stream exists at least until then.
     *
     * @return a scope that restores the previous current stream when it is closed
     * @throws UsageException if this stream is closed
     */
    Scope use();

    /** A period during which a stream is current. */
    interface Scope extends AutoCloseable {
        /** Restores the previous current stream. */
        @Override
        void close();
    }

    /**
     * Makes later commands of this stream wait for an event. Does not block the host.
     *
     * @param event an event; one that was never recorded is complete
     * @throws UsageException if the stream or the event is closed
     */
    void waitEvent(Event event);

    /**
     * Returns whether all commands of this stream are complete.
     *
     * @return true if they are
     * @throws JcclException if all commands are complete, under the conditions of {@link
     *     #synchronize}
     */
    boolean query();

    /**
     * Returns whether this stream is capturing commands into a graph instead of executing them.
     *
     * @return true during a capture; false if the device has no graphs
     */
    boolean isCapturing();

    /**
     * Blocks the host until all commands of this stream are complete.
     *
     * @throws JcclException the failure of a group, if {@link Work#await}, a synchronous call or an
     *     event ordered this stream after one of its operations. The results are then undefined. It
     *     is thrown until the group is closed, and at least once
     */
    void synchronize();

    /**
     * Returns the native handle.
     *
     * @return 0 for the default stream
     */
    long handle();

    /**
     * Returns the native stream for JavaCPP's presets: {@code new CUstream_st(stream.pointer())}
     * with CUDA. The pointer owns nothing. This object must stay open while native code uses it.
     *
     * @return a pointer whose address is the native stream, or null for the default stream, as the
     *     functions of the presets expect it
     */
    @SuppressWarnings("exports") // Only callers that have JavaCPP use it.
    default Pointer pointer() {
        return NativePointer.of(handle());
    }

    /**
     * Returns the device.
     *
     * @return the device
     */
    Device device();

    /**
     * Destroys the native stream if this object created it. Enqueued commands still run. If the
     * stream is current in a thread, or a thread queries it or waits for it, the last of these
     * threads destroys it. Idempotent.
     */
    @Override
    void close();
}
