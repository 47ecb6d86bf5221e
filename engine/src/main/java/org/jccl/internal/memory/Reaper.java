package org.jccl.internal.memory;

import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.jccl.Device;
import org.jccl.spi.CleanUp;

/**
 * Frees memory on a thread that nothing waits for. A vendor's free may wait for all that runs on
 * the device, and so for an operation that is stuck: the watchdog, which would end that operation,
 * must not be inside, nor a thread that other ranks wait for. What users run to free their own
 * memory may block, too.
 *
 * <p>One daemon thread for each device, since memory belongs to no group, and a device that is
 * stuck must not keep the memory of others. The thread exists while it is needed. Safe for use by
 * several threads.
 */
public final class Reaper {

    private static final long IDLE_SECONDS = 5;

    private static final Map<Device, Reaper> BY_DEVICE = new ConcurrentHashMap<>();

    private final Device device;
    private final ThreadPoolExecutor thread;

    private Reaper(Device device) {
        this.device = device;
        this.thread =
                new ThreadPoolExecutor(
                        1,
                        1,
                        IDLE_SECONDS,
                        TimeUnit.SECONDS,
                        new LinkedBlockingQueue<>(),
                        task -> {
                            Thread made = new Thread(task, "jccl-reaper-" + device);
                            made.setDaemon(true);
                            return made;
                        });
        thread.allowCoreThreadTimeOut(true);
    }

    /** The reaper of a device. */
    public static Reaper of(Device device) {
        return BY_DEVICE.computeIfAbsent(device, Reaper::new);
    }

    /** Frees something later, after everything that was passed before. Never blocks. */
    public void free(Runnable free) {
        add(
                () -> {
                    try {
                        free.run();
                    } catch (RuntimeException | Error e) {
                        CleanUp.log("memory of " + device + " was not freed", e);
                    }
                });
    }

    /** A task for which no thread can be started waits for the thread of a later one. */
    private void add(Runnable task) {
        try {
            thread.execute(task);
        } catch (OutOfMemoryError e) {
            thread.getQueue().add(task);
        }
    }

    /**
     * Waits until everything that was passed before is freed. An interrupt does not end the wait;
     * the flag stays set.
     *
     * @param timeout how long at most
     * @return false if that was not enough
     */
    public boolean await(Duration timeout) {
        CountDownLatch done = new CountDownLatch(1);
        add(done::countDown);
        long end = System.nanoTime() + timeout.toNanos();
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return done.await(end - System.nanoTime(), TimeUnit.NANOSECONDS);
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
