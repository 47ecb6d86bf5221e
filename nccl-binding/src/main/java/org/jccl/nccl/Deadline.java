package org.jccl.nccl;

import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Runs native calls that have no deadline of their own on threads that can be left behind. Each
 * thread is a platform thread: the current device belongs to it.
 */
final class Deadline {

    private Deadline() {}

    /**
     * Runs a task in a thread of its own and waits for it. Interrupts are kept for later.
     *
     * @param name of the thread
     * @param task throws unchecked exceptions only
     * @param timeout how long to wait
     * @return true when the task is done; what it threw is thrown
     */
    static boolean run(String name, Runnable task, Duration timeout) {
        return await(start(name, task), timeout);
    }

    static FutureTask<Void> start(String name, Runnable task) {
        FutureTask<Void> future = new FutureTask<>(task, null);
        Thread thread = new Thread(future, name);
        thread.setDaemon(true);
        thread.start();
        return future;
    }

    static boolean await(FutureTask<Void> future, Duration timeout) {
        long end = System.nanoTime() + timeout.toNanos();
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    future.get(end - System.nanoTime(), TimeUnit.NANOSECONDS);
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
