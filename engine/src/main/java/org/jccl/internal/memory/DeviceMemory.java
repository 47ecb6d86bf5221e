package org.jccl.internal.memory;

import java.time.Duration;
import org.jccl.Device;
import org.jccl.JcclException;
import org.jccl.spi.DeviceRuntime;
import org.jccl.spi.Polling;

/** Memory of one device, freed by its {@link Reaper}. Safe for use by several threads. */
public final class DeviceMemory {

    /** How long to wait for memory that is about to be freed, but still in use. */
    private static final Duration PATIENCE = Duration.ofSeconds(10);

    /** The watchdog sees the ends of operations, every tenth of a second. */
    private static final Duration PAUSE = Duration.ofMillis(10);

    private final DeviceRuntime runtime;
    private final Device device;

    public DeviceMemory(DeviceRuntime runtime, Device device) {
        this.runtime = runtime;
        this.device = device;
    }

    /**
     * Allocates on the device, which is current. If no memory is left, waits for closed tensors
     * that are about to be freed.
     *
     * @param bytes size, not 0
     * @return the address
     * @throws OutOfMemoryError if there is still none
     */
    public long allocate(long bytes) {
        try {
            return runtime.allocate(bytes);
        } catch (OutOfMemoryError e) {
            return allocateLater(bytes);
        }
    }

    private long allocateLater(long bytes) {
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        while (Memory.isAwaited() && System.nanoTime() - deadline < 0) {
            Reaper.of(device).await(PATIENCE);
            try {
                return runtime.allocate(bytes);
            } catch (OutOfMemoryError e) {
                Polling.sleep(PAUSE);
            }
        }
        Reaper.of(device).await(PATIENCE);
        return runtime.allocate(bytes);
    }

    /** Frees memory that is no longer used. Never blocks; any thread may call it. */
    public void free(long address) {
        free(address, () -> {});
    }

    /**
     * Frees memory that no operation uses any more. Never blocks; any thread may call it.
     *
     * @param address from {@link #allocate}
     * @param before waits for the last users; if it throws, the memory is not freed
     */
    public void free(long address, Runnable before) {
        Reaper.of(device)
                .free(
                        () -> {
                            before.run();
                            freeNow(address);
                        });
    }

    /**
     * Frees memory once a stream has passed what was enqueued so far, and never if the device fails
     * to say so. Never blocks; the device is current.
     */
    public void freeAfter(long address, long stream) {
        long passed = runtime.createEvent(false);
        runtime.recordEvent(passed, stream);
        Reaper.of(device)
                .free(
                        () -> {
                            enter();
                            await(passed);
                            freeNow(address);
                        });
    }

    private void await(long passed) {
        try {
            runtime.synchronizeEvent(passed);
        } catch (JcclException e) {
            // What failed is done, too; what is stuck may continue later.
            if (!runtime.queryEvent(passed)) {
                throw e;
            }
        } finally {
            runtime.destroyEvent(passed);
        }
    }

    private void freeNow(long address) {
        enter();
        runtime.free(address);
    }

    /** Does not disturb a graph that another thread captures. */
    private void enter() {
        runtime.preparePollingThread(device.index());
    }
}
