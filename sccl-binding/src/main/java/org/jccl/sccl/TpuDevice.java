package org.jccl.sccl;

import java.util.Arrays;

/** A device: its thread, its memory, and the queues behind its streams. Thread-safe. */
final class TpuDevice {

    final int index;
    final DeviceThread thread;
    final TpuMemory memory;
    private final KernelModule module;
    private volatile TpuQueue own;
    private volatile TpuQueue[] shared = {};

    /**
     * Starts the device's thread, which makes no native call yet.
     *
     * @param index of the device
     * @param module kernels that make handles from streams
     * @param enter makes the device current on the calling thread
     */
    TpuDevice(int index, KernelModule module, Runnable enter) {
        this.index = index;
        this.module = module;
        this.memory = new TpuMemory(index);
        this.thread = new DeviceThread(index, enter, this::poll);
    }

    private void poll() {
        TpuQueue known = own;
        if (known != null) {
            known.poll();
        }
        for (TpuQueue other : shared) {
            other.poll();
        }
    }

    /** The queue behind a stream; 0 is the device's own stream. */
    TpuQueue queue(long stream) {
        TpuQueue known = known(stream);
        return known != null ? known : thread.get(() -> make(stream));
    }

    private TpuQueue known(long stream) {
        if (stream == 0) {
            return own;
        }
        for (TpuQueue other : shared) {
            if (other.stream == stream) {
                return other;
            }
        }
        return null;
    }

    /** On the device's thread. */
    private TpuQueue make(long stream) {
        TpuQueue known = known(stream);
        if (known != null) {
            // Another thread was faster. A second queue would not know half of the work.
            return known;
        }
        if (stream == 0) {
            own = TpuQueue.create(thread, index, module);
            return own;
        }
        TpuQueue made = TpuQueue.share(thread, index, stream, module);
        TpuQueue[] longer = Arrays.copyOf(shared, shared.length + 1);
        longer[shared.length] = made;
        shared = longer;
        return made;
    }
}
