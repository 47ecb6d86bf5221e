package org.jccl.internal.device;

import org.jccl.Device;
import org.jccl.FailureContext;
import org.jccl.UsageException;
import org.jccl.spi.CleanUp;
import org.jccl.spi.DeviceRuntime;

/**
 * A native handle of a device and its lifetime: closing it never waits for the threads that use it,
 * the last of which destroys it. Safe for use by several threads.
 */
abstract sealed class NativeHandle permits NativeEvent, NativeStream {

    final Device device;
    final DeviceRuntime runtime;
    final long handle;

    private int inside;
    private volatile boolean closed;
    private boolean destroying;
    private boolean destroyed;

    NativeHandle(Device device, DeviceRuntime runtime, long handle) {
        this.device = device;
        this.runtime = runtime;
        this.handle = handle;
    }

    /** Gives the native handle back. */
    abstract void destroyNative();

    /** For instance {@code stream}. */
    abstract String kind();

    public Device device() {
        return device;
    }

    public long handle() {
        return handle;
    }

    final boolean isClosed() {
        return closed;
    }

    final void requireOpen() {
        if (closed) {
            throw new UsageException(FailureContext.NONE, kind() + " on " + device + " is closed");
        }
    }

    /** Keeps the handle until {@link #leave}; never waits for other threads. */
    final synchronized void enter() {
        requireOpen();
        inside++;
    }

    final synchronized boolean enterIfOpen() {
        if (!closed) {
            inside++;
        }
        return !closed;
    }

    /** Enters a closed handle too, until it is destroyed; waits for the thread that destroys it. */
    final synchronized boolean enterUnlessDestroyed() {
        boolean interrupted = false;
        while (destroying && !destroyed) {
            try {
                wait();
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        if (!destroyed) {
            inside++;
        }
        return !destroyed;
    }

    final void leave() {
        boolean last;
        synchronized (this) {
            inside--;
            last = closed && inside == 0;
            destroying |= last;
        }
        if (last) {
            // Another thread closed it, so a failure is only logged.
            CleanUp.run(kind() + " on " + device, this::destroy);
        }
    }

    /** Closes it: this thread destroys it, or the last one that uses it. Idempotent. */
    final void end() {
        synchronized (this) {
            if (closed) {
                return;
            }
            closed = true;
            if (inside > 0) {
                return;
            }
            destroying = true;
        }
        destroy();
    }

    /** Without a lock: some vendors wait here for what is still enqueued. */
    private void destroy() {
        try {
            destroyNative();
        } finally {
            synchronized (this) {
                destroyed = true;
                notifyAll();
            }
        }
    }

    /** Whether the native handle no longer exists. */
    public final synchronized boolean isDestroyed() {
        return destroyed;
    }
}
