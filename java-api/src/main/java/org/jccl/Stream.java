package org.jccl;

import java.util.HashMap;
import java.util.Map;
import org.jccl.internal.DeviceRuntimes;
import org.jccl.internal.StreamOrders;
import org.jccl.spi.DeviceRuntime;

/**
 * A device's queue of commands that run in order. Each thread has a current stream for each device,
 * at first the device's default stream; collectives order themselves after what is on it.
 *
 * <p>The host is blocked by {@link #synchronize} only. Safe for use by several threads.
 */
public final class Stream implements AutoCloseable {

    private static final ThreadLocal<Map<Device, Stream>> CURRENT =
            ThreadLocal.withInitial(HashMap::new);

    private final Device device;
    private final DeviceRuntime runtime;
    private final StreamOrders orders;
    private final long handle;
    private final Object owner;
    private final boolean owned;
    private boolean closed;

    private Stream(Device device, DeviceRuntime runtime, long handle, Object owner, boolean owned) {
        this.device = device;
        this.runtime = runtime;
        this.orders = StreamOrders.of(device);
        this.handle = handle;
        this.owner = owner;
        this.owned = owned;
    }

    /**
     * Creates a stream.
     *
     * @param device an accelerator
     * @param highPriority true for the highest priority the device has
     * @return the stream, to be closed by the caller
     * @throws UsageException when the device is the CPU or there is no such device
     * @throws BackendUnavailableException when no binding drives such devices
     */
    public static Stream create(Device device, boolean highPriority) {
        DeviceRuntime runtime = DeviceRuntimes.of(device);
        long handle = runtime.createStream(highPriority);
        Stream stream = new Stream(device, runtime, handle, null, true);
        stream.forget();
        return stream;
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
    public static Stream ofHandle(Device device, long handle, Object owner) {
        DeviceRuntime runtime = DeviceRuntimes.of(device);
        if (handle != 0 && runtime.isOrderedWithDefault(handle)) {
            StreamOrders.of(device).orderedWithDefault(handle);
        }
        return new Stream(device, runtime, handle, owner, false);
    }

    /**
     * The calling thread's current stream on a device.
     *
     * @param device an accelerator
     * @return the default stream unless another was set by {@link #use}
     * @throws UsageException when the device is the CPU or there is no such device
     * @throws BackendUnavailableException when no binding drives such devices
     */
    public static Stream current(Device device) {
        Stream stream = CURRENT.get().get(device);
        if (stream == null) {
            stream = ofHandle(device, 0, null);
            CURRENT.get().put(device, stream);
        }
        return stream;
    }

    /**
     * Makes this the calling thread's current stream until the result is closed, in the same
     * thread.
     *
     * @return restores the stream that was current before
     */
    public Scope use() {
        requireOpen();
        Stream before = current(device);
        CURRENT.get().put(device, this);
        return () -> CURRENT.get().put(before.device, before);
    }

    /** A time during which a stream is current. */
    public interface Scope extends AutoCloseable {
        /** Makes the stream current that was so before. */
        @Override
        void close();
    }

    /**
     * Makes what is enqueued later on this stream wait for an event. The host goes on.
     *
     * @param event recorded before; an event that never was is complete
     */
    public void waitEvent(Event event) {
        requireOpen();
        if (event.isRecorded()) {
            DeviceRuntimes.enter(runtime, device);
            runtime.waitEvent(handle, event.handle());
            orders.waitFor(handle, event.dependencies());
        }
    }

    /**
     * Whether everything that was enqueued is done.
     *
     * @return true when it is
     * @throws JcclException when it is, as {@link #synchronize} does
     */
    public boolean query() {
        requireOpen();
        DeviceRuntimes.enter(runtime, device);
        return orders.query(handle, () -> runtime.queryStream(handle));
    }

    /**
     * Whether what is enqueued is captured into a graph rather than run.
     *
     * @return false also where the device has no graphs
     */
    public synchronized boolean isCapturing() {
        requireOpen();
        return runtime.isCapturing(handle);
    }

    /**
     * Blocks the host until everything that was enqueued is done.
     *
     * @throws JcclException the failure of a group that this stream was ordered after, by {@link
     *     Work#await}, a synchronous call or an event: what is done then is not right. It is thrown
     *     until the group is closed, and at least once
     */
    public void synchronize() {
        requireOpen();
        DeviceRuntimes.enter(runtime, device);
        orders.synchronize(handle, () -> runtime.synchronizeStream(handle));
    }

    /**
     * The native handle.
     *
     * @return 0 for the default stream
     */
    public long handle() {
        return handle;
    }

    /**
     * The device.
     *
     * @return the device
     */
    public Device device() {
        return device;
    }

    private void forget() {
        if (handle != 0) { // which a device with one stream only has for all
            orders.forget(handle);
        }
    }

    DeviceRuntime runtime() {
        return runtime;
    }

    StreamOrders orders() {
        return orders;
    }

    synchronized void requireOpen() {
        if (closed) {
            throw new UsageException(FailureContext.NONE, "stream on " + device + " is closed");
        }
    }

    /** Destroys a stream that was created here; what was enqueued still runs. Idempotent. */
    @Override
    public synchronized void close() {
        if (closed) {
            return;
        }
        closed = true;
        if (owned) {
            forget();
            runtime.destroyStream(handle);
        }
        java.lang.ref.Reference.reachabilityFence(owner);
    }
}
