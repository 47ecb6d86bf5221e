package org.jccl.spi;

/**
 * Streams, events and memory of one kind of device. Handles are the native ones; 0 is the device's
 * default stream.
 *
 * <p>The engine makes the right device current on the calling thread with {@link #setDevice} before
 * any call that depends on it, and calls only from platform threads: the current device is state of
 * an operating system thread. Every method throws an {@link org.jccl.NativeException} when the
 * vendor's call fails.
 */
public interface DeviceRuntime {

    /**
     * Number of devices of this kind.
     *
     * @return 0 when there are none
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
     * Destroys a stream; what was enqueued still runs.
     *
     * @param stream handle
     */
    void destroyStream(long stream);

    /**
     * Whether destroying a stream waits for what was enqueued.
     *
     * @return false where it returns at once
     */
    default boolean destroyStreamWaits() {
        return false;
    }

    /**
     * Whether everything on a stream is done.
     *
     * @param stream handle
     * @return true when it is
     */
    boolean queryStream(long stream);

    /**
     * Whether the device continues after a failed operation. The stream of {@link #createStream} on
     * which the operation failed stops. The default stream, streams of other libraries and streams
     * that wait for the failed one continue, and may read what the operation has left as its
     * result.
     *
     * @return false if a failure stops the whole device
     */
    default boolean continuesAfterFailures() {
        return false;
    }

    /**
     * Throws the failure of an operation on a stream, if there is one. Needed on a device that
     * {@linkplain #continuesAfterFailures() continues after failures}, because there an event
     * behind the failed operation may still complete. Never blocks.
     *
     * @param stream handle, of {@link #createStream}
     */
    default void checkStream(long stream) {}

    /**
     * Blocks until everything on a stream is done.
     *
     * @param stream handle
     */
    void synchronizeStream(long stream);

    /**
     * Blocks until everything on a stream is done, or some time is over. Where an abort always ends
     * what a group has on a stream, this may wait for longer.
     *
     * @param stream handle
     * @param millis how long, more than 0
     * @return false when the time was over first
     */
    default boolean awaitStream(long stream, long millis) {
        synchronizeStream(stream);
        return true;
    }

    /**
     * Whether what is enqueued on a stream is captured into a graph rather than run.
     *
     * @param stream handle
     * @return false where the device has no capture
     */
    default boolean isCapturing(long stream) {
        return false;
    }

    /**
     * Whether what is enqueued on a stream waits for what is on the default stream, and the other
     * way around, without an event.
     *
     * @param stream handle, not of the default stream
     * @return false where no stream does
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
     * Records an event on a stream: it is complete when what was enqueued before is.
     *
     * @param event handle
     * @param stream handle, of the event's device
     */
    void recordEvent(long event, long stream);

    /**
     * Makes what is enqueued later on a stream wait for an event, without blocking the host. The
     * wait is for the event as recorded now; recording it again does not move the wait.
     *
     * @param stream handle
     * @param event recorded before
     */
    void waitEvent(long stream, long event);

    /**
     * Whether an event is complete.
     *
     * @param event recorded before
     * @return true when it is
     */
    boolean queryEvent(long event);

    /**
     * Blocks until an event is complete.
     *
     * @param event recorded before
     */
    void synchronizeEvent(long event);

    /**
     * Blocks until an event is complete, or some time is over, as {@link #awaitStream} does.
     *
     * @param event recorded before
     * @param millis how long, more than 0
     * @return false when the time was over first
     */
    default boolean awaitEvent(long event, long millis) {
        synchronizeEvent(event);
        return true;
    }

    /**
     * Time between two events.
     *
     * @param start made for timing, complete
     * @param end made for timing, complete
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
     * Whether {@link #free} waits for what the device has still to do. Where it does not, memory is
     * freed only once the streams that copies used it on are done; {@link #destroyStream} must wait
     * for its stream there.
     *
     * @return true where memory may be freed that the device still uses
     */
    default boolean freeWaits() {
        return false;
    }

    /**
     * Allocates page-locked host memory, which the device copies from and to beside the host.
     *
     * @param bytes size, not 0
     * @return the address, aligned to 64 bytes; 0 where there is none to be had, and ordinary
     *     memory must do
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
     * Enqueues a copy. Host memory must stay as it is until the copy is done. Where it is not
     * page-locked, the call may wait for the copy.
     *
     * @param to target address
     * @param from source address
     * @param bytes how many
     * @param direction where both are
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
