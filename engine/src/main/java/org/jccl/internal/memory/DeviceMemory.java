package org.jccl.internal.memory;

import java.time.Duration;
import org.jccl.Device;
import org.jccl.JcclException;
import org.jccl.spi.DeviceRuntime;
import org.jccl.spi.Polling;

/** Memory of one device, freed by its {@link Reaper}. Safe for use by several threads. */
public final class DeviceMemory {

    /** What is about to be freed may wait for an operation, but not for ever. */
    private static final Duration PATIENCE = Duration.ofSeconds(10);

    /** Operations' ends are seen by the watchdog, a tenth of a second apart. */
    private static final Duration PAUSE = Duration.ofMillis(10);

    private final DeviceRuntime runtime;
    private final Device device;

    public DeviceMemory(DeviceRuntime runtime, Device device) {
        this.runtime = runtime;
        this.device = device;
    }

    /**
     * Allocates on the device, which is current. Where no memory is left, waits for what is closed
     * and about to be freed.
     *
     * @param bytes size, not 0
     * @return the address
     * @throws OutOfMemoryError when there is still none
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

    /** Frees memory that nothing uses any more. Never blocks; any thread may call it. */
    public void free(long address) {
        free(address, () -> {});
    }

    /**
     * Frees memory that no operation uses any more. Never blocks; any thread may call it.
     *
     * @param address from {@link #allocate}
     * @param before what is to be waited for; when it throws, the memory is not freed
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
     * Frees memory once a stream has come past what was enqueued so far, and not at all where the
     * device can not say so. Never blocks; the device is current.
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
            // What failed is done all the same; what is only stuck may go on one day.
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

    /** Without disturbing what another thread captures. */
    private void enter() {
        runtime.preparePollingThread(device.index());
    }
}
