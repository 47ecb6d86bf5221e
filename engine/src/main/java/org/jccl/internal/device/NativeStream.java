package org.jccl.internal.device;

import java.lang.ref.Reference;
import java.util.HashMap;
import java.util.Map;
import org.jccl.Device;
import org.jccl.Event;
import org.jccl.FailureContext;
import org.jccl.JcclException;
import org.jccl.Stream;
import org.jccl.UsageException;
import org.jccl.internal.backend.DeviceRuntimes;
import org.jccl.internal.checks.Require;
import org.jccl.internal.device.failures.StreamClocks;
import org.jccl.spi.DeviceRuntime;

/** A stream of a device. */
public final class NativeStream extends NativeHandle implements Stream {

    private static final ThreadLocal<Map<Device, NativeStream>> CURRENT =
            ThreadLocal.withInitial(HashMap::new);

    private final StreamClocks clocks;
    private final Object owner;
    private final boolean owned;

    private NativeStream(
            Device device, DeviceRuntime runtime, long handle, Object owner, boolean owned) {
        super(device, runtime, handle);
        this.clocks = StreamClocks.of(device);
        this.owner = owner;
        this.owned = owned;
    }

    /** Creates a stream on an accelerator, which becomes current. */
    public static NativeStream create(Device device, boolean highPriority) {
        DeviceRuntime runtime = DeviceRuntimes.of(device);
        long handle = runtime.createStream(highPriority);
        NativeStream stream = new NativeStream(device, runtime, handle, null, true);
        stream.forget();
        return stream;
    }

    /**
     * Wraps another library's stream.
     *
     * @param device its device
     * @param handle the native handle; 0 is the default stream
     * @param owner kept reachable as long as this object is; may be null
     * @return the stream
     */
    public static NativeStream ofHandle(Device device, long handle, Object owner) {
        DeviceRuntime runtime = DeviceRuntimes.of(device);
        if (handle != 0 && runtime.isOrderedWithDefault(handle)) {
            StreamClocks.of(device).orderedWithDefault(handle);
        }
        return new NativeStream(device, runtime, handle, owner, false);
    }

    /** The calling thread's current stream: the default stream, unless another is in use. */
    public static NativeStream current(Device device) {
        NativeStream stream = CURRENT.get().get(device);
        if (stream == null) {
            stream = ofHandle(device, 0, null);
            CURRENT.get().put(device, stream);
        }
        return stream;
    }

    /** The stream of this API that a program passed; throws for any other. */
    static NativeStream of(Stream stream) {
        if (Require.nonNull(stream, "stream") instanceof NativeStream known) {
            return known;
        }
        throw new UsageException(
                FailureContext.NONE,
                "stream is a "
                        + stream.getClass().getName()
                        + ", which was not made by the static methods of Stream; wrap the native"
                        + " stream with Stream.ofHandle");
    }

    @Override
    public Scope use() {
        enter();
        NativeStream before = current(device);
        CURRENT.get().put(device, this);
        return new Use(this, before);
    }

    /** Keeps the stream, which another thread may close, while it is current. */
    private static final class Use implements Scope {

        private final NativeStream stream;
        private final NativeStream before;
        private boolean ended;

        Use(NativeStream stream, NativeStream before) {
            this.stream = stream;
            this.before = before;
        }

        @Override
        public void close() {
            if (!ended) {
                ended = true;
                CURRENT.get().put(before.device, before);
                stream.leave();
            }
        }
    }

    @Override
    public void waitEvent(Event event) {
        NativeEvent awaited = NativeEvent.of(event);
        enter();
        try {
            awaited.enter();
            try {
                waitFor(awaited);
            } finally {
                awaited.leave();
            }
        } finally {
            leave();
        }
    }

    private void waitFor(NativeEvent awaited) {
        if (awaited.isRecorded()) {
            DeviceRuntimes.enter(runtime, device);
            runtime.waitEvent(handle, awaited.handle());
            clocks.waitFor(handle, awaited.clock());
        }
    }

    @Override
    public boolean query() {
        enter();
        try {
            DeviceRuntimes.enter(runtime, device);
            return clocks.query(handle, () -> runtime.queryStream(handle));
        } finally {
            leave();
        }
    }

    /**
     * {@inheritDoc} Under the lock: the watchdog asks, and must not become the one to destroy it.
     */
    @Override
    public synchronized boolean isCapturing() {
        requireOpen();
        DeviceRuntimes.setDeviceForQuery(runtime, device);
        return runtime.isCapturing(handle);
    }

    /** Throws a failure on it, unless it is closed; never waits. Locks as {@link #isCapturing}. */
    synchronized void checkStream() {
        if (!isClosed()) {
            runtime.checkStream(handle);
        }
    }

    /** Whether commands are pending on it; not of a closed stream. Throws no failure of a group. */
    boolean isBusy() {
        if (!enterIfOpen()) {
            return false;
        }
        try {
            DeviceRuntimes.setDeviceForQuery(runtime, device);
            return !runtime.queryStream(handle);
        } finally {
            leave();
        }
    }

    @Override
    public void synchronize() {
        enter();
        try {
            DeviceRuntimes.enter(runtime, device);
            clocks.synchronize(handle, millis -> runtime.awaitStream(handle, millis));
        } finally {
            leave();
        }
    }

    private void forget() {
        if (handle != 0) { // a device with one stream has the handle 0 for all
            clocks.forget(handle);
        }
    }

    /** Whether this object created the native stream. */
    boolean isOwned() {
        return owned;
    }

    /** Whether another library made it, and may make it wait for what this API does not see. */
    boolean isForeign() {
        return !owned && handle != StreamClocks.DEFAULT;
    }

    StreamClocks clocks() {
        return clocks;
    }

    @Override
    public void close() {
        if (enterIfOpen()) {
            try {
                clocks.beforeClose(this);
            } finally {
                leave();
            }
        }
        end();
    }

    @Override
    void destroyNative() {
        if (owned) {
            forget();
            DeviceRuntimes.setDeviceForQuery(runtime, device);
            runtime.destroyStream(handle);
        }
        Reference.reachabilityFence(owner);
    }

    @Override
    String kind() {
        return "stream";
    }

    /**
     * Blocks until everything on it is done, also while it is being closed. Throws no failure of a
     * group.
     */
    public void awaitEnd() {
        if (!enterUnlessDestroyed()) {
            return;
        }
        try {
            runtime.preparePollingThread(device.index());
            runtime.synchronizeStream(handle);
        } catch (JcclException e) {
            // What failed on it is done, too.
            if (!runtime.queryStream(handle)) {
                throw e;
            }
        } finally {
            leave();
        }
    }
}
