package org.jccl.internal.staged;

import org.jccl.spi.CleanUp;
import org.jccl.spi.DeviceRuntime;
import org.jccl.spi.DeviceRuntime.Copy;

/**
 * A stream of copies in one direction, made when it first copies. One thread at a time enqueues on
 * it; the device must be current.
 */
final class CopyStream {

    private final DeviceRuntime runtime;
    private final Copy direction;
    private boolean made;
    private long stream;

    CopyStream(DeviceRuntime runtime, Copy direction) {
        this.runtime = runtime;
        this.direction = direction;
    }

    /**
     * Enqueues the copies of a window, and records an event behind them.
     *
     * @param parts in the device's memory
     * @param from first element of the window
     * @param length elements of it
     * @param host where they are on the host, one part after the other
     * @param elementSize bytes of one
     * @param event recorded last
     */
    void copy(Parts parts, long from, long length, long host, int elementSize, long event) {
        if (!made) {
            stream = runtime.createStream(false);
            made = true;
        }
        try {
            parts.copy(from, length, host, elementSize, this::copy);
        } catch (RuntimeException | Error e) {
            // What was enqueued before it still runs.
            CleanUp.run("event behind copies", () -> runtime.recordEvent(event, stream));
            throw e;
        }
        runtime.recordEvent(event, stream);
    }

    /**
     * Whether the copies before an event of this stream are done; never blocks.
     *
     * @throws org.jccl.JcclException when one of them failed
     */
    boolean isDone(long event) {
        if (!runtime.queryEvent(event)) {
            return false;
        }
        // Returns at once; some devices report a failed copy only to a thread that waits.
        runtime.synchronizeEvent(event);
        // On others not even the event reports it.
        runtime.checkStream(stream);
        return true;
    }

    private void copy(long onDevice, long onHost, long bytes) {
        if (direction == Copy.DEVICE_TO_HOST) {
            runtime.copy(onHost, onDevice, bytes, direction, stream);
        } else {
            runtime.copy(onDevice, onHost, bytes, direction, stream);
        }
    }

    void close() {
        if (made) {
            made = false;
            runtime.destroyStream(stream);
        }
    }
}
