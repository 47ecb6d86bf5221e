package org.jccl.internal.engine;

import java.time.Duration;
import java.util.concurrent.Executor;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.RejectedExecutionException;
import org.jccl.FailureContext;
import org.jccl.spi.CleanUp;
import org.jccl.spi.Polling;

/**
 * Looks after works that have a future and that nothing but asking can complete, since neither a
 * device tells anybody when an event passes nor a library when a request is complete. The thread
 * exists only while there are such works.
 */
public final class FutureThread {

    private static final Duration PAUSE = Duration.ofNanos(100_000);

    /** After an exception, which may come again at once. */
    private static final Duration PAUSE_AFTER_FAILURE = Duration.ofMillis(100);

    private final FailureContext context;
    private final Runnable prepare;
    private final Runnable completePassed;
    private int awaited;
    private boolean started;

    /** Creates it without the thread. */
    public FutureThread(FailureContext context, Runnable prepare, Runnable completePassed) {
        this.context = context;
        this.prepare = prepare;
        this.completePassed = completePassed;
    }

    /** A work with a future has a request, of which only asking tells whether it is complete. */
    public synchronized void begin() {
        awaited++;
        if (!started) {
            Thread thread =
                    new Thread(this::run, "jccl-futures-" + context.group() + "-" + context.rank());
            thread.setDaemon(true);
            try {
                thread.start();
                started = true;
            } catch (OutOfMemoryError e) {
                late(e);
            }
        }
    }

    /** Such a work is complete. */
    public synchronized void end() {
        awaited--;
    }

    private void run() {
        boolean prepared = false;
        boolean failed = false;
        while (isNeeded()) {
            Duration pause = PAUSE;
            try {
                if (!prepared) {
                    prepare.run();
                    prepared = true;
                }
                completePassed.run();
            } catch (RuntimeException | Error e) {
                // One exception must not leave later futures to the watchdog.
                if (!failed) {
                    failed = true;
                    late(e);
                }
                pause = PAUSE_AFTER_FAILURE;
            }
            Polling.sleep(pause);
        }
    }

    /** The watchdog also completes works, at its next tick. */
    private void late(Throwable why) {
        CleanUp.log(context + ": futures complete late", why);
    }

    /**
     * Completes a future on a thread of its own, since what users hang on it must not run on the
     * engine's threads. Without another thread, it does so on the calling one: somebody may wait.
     */
    public static void complete(Runnable future) {
        complete(ForkJoinPool.commonPool(), future);
    }

    static void complete(Executor threads, Runnable future) {
        try {
            threads.execute(future);
        } catch (OutOfMemoryError | RejectedExecutionException e) {
            future.run();
        }
    }

    private synchronized boolean isNeeded() {
        started = awaited > 0;
        return started;
    }
}
