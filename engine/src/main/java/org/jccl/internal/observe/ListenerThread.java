package org.jccl.internal.observe;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import org.jccl.spi.Deadline;
import org.jccl.spi.Durations;

/**
 * Calls the listeners of a world, one after the other. Other threads queue calls here. The thread
 * polls every 10 ms, because waking it would cost more than the rest of an operation.
 */
final class ListenerThread implements AutoCloseable {

    private static final System.Logger LOGGER = System.getLogger("org.jccl.listener");
    private static final long POLL_NANOS = TimeUnit.MILLISECONDS.toNanos(10);
    private static final Duration CLOSE_GRACE = Duration.ofSeconds(1);

    /**
     * The maximum number of queued starts of operations. The queue accepts the ends of all accepted
     * starts.
     */
    static final int CAPACITY = 1 << 14;

    /** A listener, and the number of events that it missed. */
    static final class Subscription {
        private final int index;
        private final Listener listener;

        /** Guarded by the monitor of the thread. */
        private long missed;

        /** Used by the thread only. */
        private boolean hasThrown;

        private boolean hasMissed;

        Subscription(int index, Listener listener) {
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

    private record Call(Subscription to, Runnable call) {}

    private final Thread thread;
    private final List<Subscription> listeners;

    // Guarded by the monitor of this object, which is held for a few instructions.
    private List<Call> waiting = new ArrayList<>();
    private int starts;

    private volatile boolean closed;

    /**
     * Starts the thread.
     *
     * @param name the name of the thread
     */
    ListenerThread(String name, List<Listener> listeners) {
        this.listeners =
                IntStream.range(0, listeners.size())
                        .mapToObj(index -> new Subscription(index, listeners.get(index)))
                        .toList();
        thread = new Thread(this::run, "jccl-listeners-" + name);
        thread.setDaemon(true);
        thread.start();
    }

    List<Subscription> listeners() {
        return listeners;
    }

    /**
     * Queues the start of an operation, unless too many are queued.
     *
     * @return whether it was queued; then its end must be queued too
     */
    synchronized boolean offerStart(Subscription to, Runnable call) {
        if (starts == CAPACITY) {
            to.missed++;
            return false;
        }
        starts++;
        waiting.add(new Call(to, call));
        return true;
    }

    /** Queues any other call. */
    synchronized void add(Subscription to, Runnable call) {
        waiting.add(new Call(to, call));
    }

    /** Queues a call and wakes the thread. */
    void addNow(Subscription to, Runnable call) {
        add(to, call);
        LockSupport.unpark(thread);
    }

    private void run() {
        while (true) {
            boolean last = closed;
            List<Call> taken = take();
            taken.forEach(each -> call(each.to, each.call));
            listeners.forEach(this::reportMissed);
            if (taken.isEmpty()) {
                if (last) {
                    return;
                }
                LockSupport.parkNanos(POLL_NANOS);
                // Clears an interrupt of a listener, after which this thread would spin.
                Thread.interrupted();
            }
        }
    }

    private synchronized List<Call> take() {
        if (waiting.isEmpty()) {
            return List.of();
        }
        List<Call> taken = waiting;
        waiting = new ArrayList<>();
        starts = 0;
        return taken;
    }

    private void reportMissed(Subscription to) {
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
                    "%s is slower than the operations that it observes; only the number of missed operations is reported"
                            .formatted(to.listener),
                    null);
        }
        call(to, () -> to.listener.called().operationsMissed(missed));
    }

    private static void call(Subscription to, Runnable call) {
        try {
            call.run();
        } catch (Throwable e) {
            if (!to.hasThrown) {
                to.hasThrown = true;
                log(to.listener + " threw an exception; later ones are not logged", e);
            }
        }
    }

    private static void log(String what, Throwable thrown) {
        try {
            LOGGER.log(System.Logger.Level.WARNING, what, thrown);
        } catch (Throwable again) {
            // The failure cannot be logged; the next call must still be made.
        }
    }

    /**
     * Waits for a grace period until all calls were made, unless a listener itself closes the
     * world.
     */
    @Override
    public void close() {
        closed = true;
        LockSupport.unpark(thread);
        if (Thread.currentThread() == thread) {
            return;
        }
        boolean ended =
                Deadline.after(CLOSE_GRACE)
                        .await(
                                nanos -> {
                                    TimeUnit.NANOSECONDS.timedJoin(thread, nanos);
                                    return !thread.isAlive();
                                });
        if (!ended) {
            log(
                    "a listener did not handle its events within %s after the world was closed"
                            .formatted(Durations.text(CLOSE_GRACE)),
                    null);
        }
    }
}
