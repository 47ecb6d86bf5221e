package org.jccl.internal.engine;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * One thread for a world and all groups made from it. It enforces deadlines, notices asynchronous
 * errors and completes works that nobody awaits.
 */
public final class Watchdog implements AutoCloseable {

    private static final System.Logger LOGGER = System.getLogger(Watchdog.class.getName());
    private static final long TICK_MILLIS = 100;

    private final List<Engine> watched = new CopyOnWriteArrayList<>();
    private final Thread thread;
    private volatile boolean closed;

    /** Starts the thread. */
    public Watchdog(String name) {
        thread = new Thread(this::run, "jccl-watchdog-" + name);
        thread.setDaemon(true);
        thread.start();
    }

    /** Watches an engine until {@link #remove}. */
    public void add(Engine engine) {
        watched.add(engine);
    }

    public void remove(Engine engine) {
        watched.remove(engine);
    }

    private void run() {
        while (!closed) {
            try {
                Thread.sleep(TICK_MILLIS);
            } catch (InterruptedException e) {
                continue;
            }
            long now = System.nanoTime();
            for (Engine engine : watched) {
                watch(engine, now);
            }
        }
    }

    /** One group's trouble, whatever it is, must not leave the others without deadlines. */
    private static void watch(Engine engine, long now) {
        try {
            engine.watch(now);
        } catch (Throwable e) {
            try {
                LOGGER.log(System.Logger.Level.WARNING, "watchdog: " + e, e);
            } catch (Throwable again) {
                // Without memory there may be none for the log; the next tick is what counts.
            }
        }
    }

    @Override
    public void close() {
        closed = true;
        thread.interrupt();
    }
}
