package org.jccl.internal.engine;

import java.time.Duration;
import org.jccl.FailureContext;
import org.jccl.spi.Polling;

/**
 * Looks after works that have a future and that nothing but asking can complete, since neither a
 * device tells anybody when an event passes nor a library when a request is complete. The thread
 * exists only while there are such works.
 */
public final class FutureThread {

    private static final System.Logger LOGGER = System.getLogger("org.jccl");
    private static final Duration PAUSE = Duration.ofNanos(100_000);

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
        try {
            prepare.run();
            while (isNeeded()) {
                completePassed.run();
                Polling.sleep(PAUSE);
            }
        } catch (RuntimeException | Error e) {
            late(e);
        }
    }

    /** The watchdog completes works too, some time later. */
    private void late(Throwable why) {
        LOGGER.log(System.Logger.Level.WARNING, context + ": futures come late", why);
    }

    private synchronized boolean isNeeded() {
        started = awaited > 0;
        return started;
    }
}
