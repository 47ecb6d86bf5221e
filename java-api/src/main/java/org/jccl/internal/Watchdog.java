package org.jccl.internal;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * One thread for a world and all groups made from it: looks after deadlines, asynchronous errors
 * and works that nobody awaits.
 */
public final class Watchdog implements AutoCloseable {

    private static final long TICK_MILLIS = 100;

    private final List<Engine> watched = new CopyOnWriteArrayList<>();
    private final Thread thread;
    private volatile boolean closed;

    /**
     * Starts the thread.
     *
     * @param name of the world and rank, for the thread's name
     */
    public Watchdog(String name) {
        thread = new Thread(this::run, "jccl-watchdog-" + name);
        thread.setDaemon(true);
        thread.start();
    }

    /**
     * Looks after an engine until {@link #remove}.
     *
     * @param engine the engine
     */
    public void add(Engine engine) {
        watched.add(engine);
    }

    /**
     * Stops looking after an engine.
     *
     * @param engine the engine
     */
    public void remove(Engine engine) {
        watched.remove(engine);
    }

    private void run() {
        System.Logger logger = System.getLogger(Watchdog.class.getName());
        while (!closed) {
            try {
                Thread.sleep(TICK_MILLIS);
            } catch (InterruptedException e) {
                continue;
            }
            long now = System.nanoTime();
            for (Engine engine : watched) {
                try {
                    engine.watch(now);
                } catch (RuntimeException e) {
                    // One group's trouble must not leave the others without deadlines.
                    logger.log(System.Logger.Level.WARNING, "watchdog: " + e, e);
                }
            }
        }
    }

    @Override
    public void close() {
        closed = true;
        thread.interrupt();
    }
}
