package org.jccl.spi;

/**
 * Streams, events and memory of one kind of device. Handles are the native ones; 0 is the device's
 * default stream.
 *
 * <p>The engine makes the right device current on the calling thread with {@link #setDevice} before
 * any call that depends on it, and calls only from platform threads: the current device is state of
 * an operating system thread. Every method throws an {@link org.jccl.NativeException} if the
 * vendor's call fails.
 */
public interface DeviceRuntime {

    /**
     * Returns the number of devices of this kind.
     *
     * @return 0 if there are none
     */
    int deviceCount();

    /**
     * Makes a device current on the calling thread.
     *
     * @param device index
     */
    void setDevice(int device);

    /**
     * Creates a stream on the current device that is not ordered with the default stream.
     *
     * @param highPriority true for the highest priority the device has
     * @return the handle
     */
    long createStream(boolean highPriority);

    /**
     * Destroys a stream; enqueued commands still run.
     *
     * @param stream handle
     */
    void destroyStream(long stream);

    /**
     * Returns whether destroying a stream waits for its commands.
     *
     * @return false if it returns at once
     */
    default boolean destroyStreamWaits() {
        return false;
    }

    /**
     * Returns whether all commands of a stream are complete.
     *
     * @param stream handle
     * @return true if they are
     */
    boolean queryStream(long stream);

    /**
     * Returns whether the device continues after a failed operation. If so, the stream of {@link
     * #createStream} on which the operation failed stops. The default stream, streams of other
     * libraries and streams that wait for the failed one continue, and may read undefined results
     * of the operation.
     *
     * @return false if a failure stops the whole device
     */
    default boolean continuesAfterFailures() {
        return false;
    }

    /**
     * Throws the failure of an operation on a stream, if there is one. Needed on a device that
     * {@linkplain #continuesAfterFailures() continues after failures}, because an event after the
     * failed operation may still complete. Never blocks.
     *
     * @param stream handle, from {@link #createStream}
     */
    default void checkStream(long stream) {}

    /**
     * Blocks until all commands of a stream are complete.
     *
     * @param stream handle
     */
    void synchronizeStream(long stream);

    /**
     * Blocks until all commands of a stream are complete, or until a timeout. It may exceed the
     * timeout if an abort always ends a group's commands on a stream.
     *
     * @param stream handle
     * @param millis the timeout in milliseconds, more than 0
     * @return false after the timeout
     */
    default boolean awaitStream(long stream, long millis) {
        synchronizeStream(stream);
        return true;
    }

    /**
     * Returns whether a stream captures commands into a graph instead of running them.
     *
     * @param stream handle
     * @return false if the device has no graphs
     */
    default boolean isCapturing(long stream) {
        return false;
    }

    /**
     * Returns whether a stream and the default stream wait for each other's commands without an
     * event.
     *
     * @param stream handle, not of the default stream
     * @return false if no stream does
     */
    default boolean isOrderedWithDefault(long stream) {
        return false;
    }

    /**
     * Creates an event on the current device.
     *
     * @param timing true to allow {@link #elapsedMillis}
     * @return the handle
     */
    long createEvent(boolean timing);

    /**
     * Destroys an event.
     *
     * @param event handle
     */
    void destroyEvent(long event);

    /**
     * Records an event on a stream. It is complete when all commands that were enqueued before are.
     *
     * @param event handle
     * @param stream handle, of the event's device
     */
    void recordEvent(long event, long stream);

    /**
     * Makes later commands of a stream wait for an event, without blocking the host. The wait
     * refers to the current recording of the event; recording it again does not change the wait.
     *
     * @param stream handle
     * @param event recorded before
     */
    void waitEvent(long stream, long event);

    /**
     * Returns whether an event is complete.
     *
     * @param event recorded before
     * @return true if it is
     */
    boolean queryEvent(long event);

    /**
     * Blocks until an event is complete.
     *
     * @param event recorded before
     */
    void synchronizeEvent(long event);

    /**
     * Blocks until an event is complete or until a timeout, as {@link #awaitStream} does.
     *
     * @param event recorded before
     * @param millis the timeout in milliseconds, more than 0
     * @return false after the timeout
     */
    default boolean awaitEvent(long event, long millis) {
        synchronizeEvent(event);
        return true;
    }

    /**
     * Returns the time between two events.
     *
     * @param start a complete event with timing
     * @param end a complete event with timing
     * @return milliseconds
     */
    double elapsedMillis(long start, long end);

    /**
     * Allocates memory on the current device.
     *
     * @param bytes size, not 0
     * @return the address
     */
    long allocate(long bytes);

    /**
     * Frees memory.
     *
     * @param address from {@link #allocate}
     */
    void free(long address);

    /**
     * Returns whether {@link #free} waits for pending commands of the device. If it does not, the
     * engine frees memory only after the streams of copies that use it are complete, and {@link
     * #destroyStream} must wait for its stream.
     *
     * @return true if memory may be freed while the device still uses it
     */
    default boolean freeWaits() {
        return false;
    }

    /**
     * Allocates page-locked host memory, for copies that run concurrently with the host.
     *
     * @param bytes size, not 0
     * @return the address, aligned to 64 bytes; 0 if none is available, so that the caller uses
     *     ordinary memory
     */
    default long allocateHost(long bytes) {
        return 0;
    }

    /**
     * Frees page-locked host memory.
     *
     * @param address from {@link #allocateHost}, not 0
     */
    default void freeHost(long address) {
        throw new UnsupportedOperationException("this device has no page-locked host memory");
    }

    /** Direction of a copy. */
    enum Copy {
        /** From host memory to the device. */
        HOST_TO_DEVICE,
        /** From the device to host memory. */
        DEVICE_TO_HOST,
        /** Within the device. */
        DEVICE_TO_DEVICE
    }

    /**
     * Enqueues a copy. Host memory must not change until the copy is complete. If it is not
     * page-locked, the call may wait for the copy.
     *
     * @param to target address
     * @param from source address
     * @param bytes the number of bytes
     * @param direction the direction of the copy
     * @param stream handle
     */
    void copy(long to, long from, long bytes, Copy direction, long stream);

    /**
     * Prepares the calling thread for polling events, so that polling does not disturb a capture on
     * another thread. The watchdog calls it at each tick.
     *
     * @param device index
     */
    default void preparePollingThread(int device) {
        setDevice(device);
    }
}
