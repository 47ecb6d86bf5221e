package org.jccl.spi;

import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Runs native calls that have no deadline of their own on threads that can be left behind. Each
 * thread is a platform thread of its own, since the current device belongs to the thread, and a
 * daemon.
 */
public final class BoundedCall {

    private final FutureTask<Void> task;

    private BoundedCall(FutureTask<Void> task) {
        this.task = task;
    }

    /**
     * Starts a task in a thread of its own.
     *
     * @param name of the thread
     * @param task throws unchecked exceptions only
     * @return the call
     */
    public static BoundedCall start(String name, Runnable task) {
        FutureTask<Void> future = new FutureTask<>(task, null);
        Thread thread = new Thread(future, name);
        thread.setDaemon(true);
        thread.start();
        return new BoundedCall(future);
    }

    /**
     * Starts a task and waits for it.
     *
     * @param name of the thread
     * @param task throws unchecked exceptions only
     * @param timeout how long to wait
     * @return true when the task is done; what it threw is thrown
     */
    public static boolean run(String name, Runnable task, Duration timeout) {
        return start(name, task).await(timeout);
    }

    /**
     * Waits for the task. Interrupts are kept for later.
     *
     * @param timeout how long to wait
     * @return true when the task is done; what it threw is thrown
     */
    public boolean await(Duration timeout) {
        long end = System.nanoTime() + timeout.toNanos();
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    task.get(end - System.nanoTime(), TimeUnit.NANOSECONDS);
                    return true;
                } catch (InterruptedException e) {
                    interrupted = true;
                } catch (TimeoutException e) {
                    return false;
                } catch (ExecutionException e) {
                    throw unchecked(e.getCause());
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private static RuntimeException unchecked(Throwable cause) {
        if (cause instanceof Error error) {
            throw error;
        }
        return (RuntimeException) cause;
    }
}
