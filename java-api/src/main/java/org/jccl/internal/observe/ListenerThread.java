package org.jccl.internal.observe;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import org.jccl.spi.Durations;

/**
 * Calls the listeners of a world, one after the other. Whoever has news leaves it here and goes on;
 * the thread looks every hundredth of a second, because waking it would cost an operation more than
 * all else.
 */
final class ListenerThread implements AutoCloseable {

    private static final System.Logger LOGGER = System.getLogger("org.jccl.listener");
    private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(10);
    private static final Duration PATIENCE = Duration.ofSeconds(1);

    /** Starts of operations that wait at most; their ends are as many, and always taken. */
    static final int CAPACITY = 1 << 14;

    /** A listener, and what it has not been told. */
    static final class Told {
        private final int index;
        private final Listener listener;

        /** Guarded by the thread's monitor. */
        private long missed;

        /** The thread's own. */
        private boolean hasThrown;

        private boolean hasMissed;

        Told(int index, Listener listener) {
            this.index = index;
            this.listener = listener;
        }

        int index() {
            return index;
        }

        Listener listener() {
            return listener;
        }
    }

    private record News(Told to, Runnable call) {}

    private final Thread thread;
    private final List<Told> listeners;

    // Guarded by this object's monitor, which is held for a few instructions.
    private List<News> waiting = new ArrayList<>();
    private int starts;

    private volatile boolean closed;

    /**
     * Starts the thread.
     *
     * @param name of the world and rank, for the thread's name
     * @param listeners who is called
     */
    ListenerThread(String name, List<Listener> listeners) {
        this.listeners =
                IntStream.range(0, listeners.size())
                        .mapToObj(index -> new Told(index, listeners.get(index)))
                        .toList();
        thread = new Thread(this::run, "jccl-listeners-" + name);
        thread.setDaemon(true);
        thread.start();
    }

    List<Told> listeners() {
        return listeners;
    }

    /**
     * Leaves the start of an operation, unless too many wait.
     *
     * @return whether it was taken; then its end must be told too
     */
    synchronized boolean offerStart(Told to, Runnable call) {
        if (starts == CAPACITY) {
            to.missed++;
            return false;
        }
        starts++;
        waiting.add(new News(to, call));
        return true;
    }

    /** Leaves anything else, which always has room. */
    synchronized void add(Told to, Runnable call) {
        waiting.add(new News(to, call));
    }

    /** The same for what is told at once. */
    void addNow(Told to, Runnable call) {
        add(to, call);
        LockSupport.unpark(thread);
    }

    private void run() {
        while (true) {
            boolean last = closed;
            List<News> taken = take();
            taken.forEach(each -> call(each.to, each.call));
            listeners.forEach(this::tellMissed);
            if (taken.isEmpty()) {
                if (last) {
                    return;
                }
                LockSupport.parkNanos(LOOK_NANOS);
                // What a listener of the program's interrupted would have this thread spin.
                Thread.interrupted();
            }
        }
    }

    private synchronized List<News> take() {
        if (waiting.isEmpty()) {
            return List.of();
        }
        List<News> taken = waiting;
        waiting = new ArrayList<>();
        starts = 0;
        return taken;
    }

    private void tellMissed(Told to) {
        long missed;
        synchronized (this) {
            missed = to.missed;
            to.missed = 0;
        }
        if (missed == 0) {
            return;
        }
        if (!to.hasMissed) {
            to.hasMissed = true;
            log(
                    "%s is slower than the operations it is told of; it learns only how many it missed"
                            .formatted(to.listener),
                    null);
        }
        call(to, () -> to.listener.called().operationsMissed(missed));
    }

    private static void call(Told to, Runnable call) {
        try {
            call.run();
        } catch (Throwable e) {
            if (!to.hasThrown) {
                to.hasThrown = true;
                log(to.listener + " threw, which is logged this once", e);
            }
        }
    }

    private static void log(String what, Throwable thrown) {
        try {
            LOGGER.log(System.Logger.Level.WARNING, what, thrown);
        } catch (Throwable again) {
            // A listener's own toString, or a log without memory: the next news is what counts.
        }
    }

    /** Waits until everything was told, for a while, unless a listener closes the world itself. */
    @Override
    public void close() {
        closed = true;
        LockSupport.unpark(thread);
        if (Thread.currentThread() == thread) {
            return;
        }
        boolean interrupted = false;
        long end = System.nanoTime() + PATIENCE.toNanos();
        while (thread.isAlive() && end - System.nanoTime() > 0) {
            try {
                thread.join(Math.max(1, (end - System.nanoTime()) / 1_000_000));
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        if (thread.isAlive()) {
            log(
                    "a listener was not done with what it was told %s after the world was closed"
                            .formatted(Durations.text(PATIENCE)),
                    null);
        }
    }
}
