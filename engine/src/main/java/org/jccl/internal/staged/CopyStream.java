package org.jccl.internal.staged;

import org.jccl.internal.device.EventPool;
import org.jccl.spi.CleanUp;
import org.jccl.spi.DeviceRuntime;
import org.jccl.spi.DeviceRuntime.Copy;

/**
 * A stream of copies in one direction, created by the first copy. The device must be current. Safe
 * for use by several threads.
 */
final class CopyStream {

    private final DeviceRuntime runtime;
    private final EventPool events;
    private final Copy direction;
    private boolean created;
    private long stream;

    CopyStream(DeviceRuntime runtime, EventPool events, Copy direction) {
        this.runtime = runtime;
        this.events = events;
        this.direction = direction;
    }

    /**
     * Enqueues copies, and records an event behind them, also if enqueuing one fails.
     *
     * @param parts in the device's memory
     * @param host where they are on the host, one part after the other
     * @param elementSize bytes of one
     * @param event recorded last
     */
    synchronized void copy(Parts parts, long host, int elementSize, long event) {
        if (!created) {
            stream = runtime.createStream(false);
            created = true;
        }
        try {
            parts.copy(host, elementSize, this::copy);
        } catch (RuntimeException | Error e) {
            // What was enqueued before it still runs.
            CleanUp.run("event behind copies", () -> runtime.recordEvent(event, stream));
            throw e;
        }
        runtime.recordEvent(event, stream);
    }

    private void copy(long onDevice, long onHost, long bytes) {
        if (direction == Copy.DEVICE_TO_HOST) {
            runtime.copy(onHost, onDevice, bytes, direction, stream);
        } else {
            runtime.copy(onDevice, onHost, bytes, direction, stream);
        }
    }

    /** Returns an event for {@link #copy}. */
    long takeEvent() {
        return events.take();
    }

    /**
     * Returns whether the copies before an event are done, and takes the event back if they are.
     * Never blocks.
     *
     * @throws org.jccl.JcclException if one of them failed
     */
    boolean isDone(long event) {
        if (!runtime.queryEvent(event)) {
            return false;
        }
        // Returns at once; some devices report a failed copy only to a thread that waits.
        runtime.synchronizeEvent(event);
        // On others not even the event reports it.
        runtime.checkStream(stream);
        events.giveBack(event);
        return true;
    }

    synchronized void close() {
        if (created) {
            created = false;
            runtime.destroyStream(stream);
        }
    }
}
