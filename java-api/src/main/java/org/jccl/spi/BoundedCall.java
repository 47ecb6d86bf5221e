package org.jccl.spi;

import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jccl.JcclException;

/**
 * Runs native calls that may never return, on threads that can be abandoned. Each task has its own
 * platform thread, because the current device belongs to the thread. The thread is a daemon with a
 * stack of 64 MiB. If nothing waits for a task, its exception is logged.
 */
public final class BoundedCall {

    /**
     * Reserves address space only, not memory. Libraries search the topology of large machines
     * recursively, for which the default of 1 MiB is too small.
     */
    private static final long STACK_BYTES = 64L << 20;

    private final FutureTask<Void> task;
    private volatile boolean awaited;

    private BoundedCall(String name, Runnable calls, boolean awaited) {
        this.awaited = awaited;
        this.task =
                new FutureTask<>(calls, null) {
                    @Override
                    protected void setException(Throwable failure) {
                        super.setException(failure);
                        if (!BoundedCall.this.awaited) {
                            CleanUp.log(name, failure);
                        }
                    }
                };
        Thread thread = new Thread(null, task, name, STACK_BYTES);
        thread.setDaemon(true);
        thread.start();
    }

    /**
     * Starts a task on its own thread.
     *
     * @param name the name of the thread
     * @param task throws unchecked exceptions only
     * @return the call
     */
    public static BoundedCall start(String name, Runnable task) {
        return new BoundedCall(name, task, false);
    }

    /**
     * Starts a task and waits for it. Rethrows its exception; see {@link JcclException#forCaller}.
     *
     * @param name the name of the thread
     * @param task throws unchecked exceptions only
     * @param timeout how long to wait
     * @return whether the task is done
     */
    public static boolean run(String name, Runnable task, Duration timeout) {
        return new BoundedCall(name, task, true).await(timeout);
    }

    /**
     * Waits for the task. Rethrows its exception. An interrupt does not end the wait; the flag
     * stays set.
     *
     * @param timeout how long to wait
     * @return whether the task is done
     */
    public boolean await(Duration timeout) {
        awaited = true;
        if (isDone(timeout)) {
            return true;
        }
        awaited = false;
        return task.isDone() && isDone(Duration.ZERO); // it may have failed meanwhile, unlogged
    }

    /**
     * Waits for the task, and checks at intervals whether to continue. An exception of the task is
     * never logged, because the caller throws one in any case.
     *
     * @param timeout how long to wait
     * @param interval how long to wait between two checks
     * @param check ends the wait by throwing an exception
     * @return whether the task is done
     */
    public boolean await(Duration timeout, Duration interval, Runnable check) {
        awaited = true;
        Deadline end = Deadline.after(timeout);
        while (!isDone(interval)) {
            check.run();
            if (end.hasPassed()) {
                return false;
            }
        }
        return true;
    }

    private boolean isDone(Duration timeout) {
        return Deadline.after(timeout)
                .await(
                        nanos -> {
                            try {
                                task.get(nanos, TimeUnit.NANOSECONDS);
                                return true;
                            } catch (TimeoutException e) {
                                return false;
                            } catch (ExecutionException e) {
                                throw unchecked(e.getCause());
                            }
                        });
    }

    private static RuntimeException unchecked(Throwable cause) {
        if (cause instanceof Error error) {
            throw error;
        }
        return cause instanceof JcclException known ? known.forCaller() : (RuntimeException) cause;
    }
}
