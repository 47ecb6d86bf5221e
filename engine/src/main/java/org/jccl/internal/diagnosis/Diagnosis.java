package org.jccl.internal.diagnosis;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.jccl.Store;
import org.jccl.StoreException;
import org.jccl.spi.CleanUp;

/**
 * A thread that asks the store, for a world and all groups made from it, why something goes wrong.
 * The store may be the part that does not answer, so the thread has a connection of its own, and a
 * caller waits for its answer for {@link #ANSWER_TIMEOUT} at most. Thread and connection exist only
 * from the first question on.
 */
public final class Diagnosis implements Executor, AutoCloseable {

    /** How long others wait for what only explains, or says goodbye. */
    public static final Duration ANSWER_TIMEOUT = Duration.ofSeconds(1);

    /** How long a rank waits for what decides whether another start of the job helps. */
    public static final Duration CAUSE_TIMEOUT = Duration.ofSeconds(3);

    private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(5);

    private final String name;
    private final Optional<Store> shared;
    private final Supplier<List<Integer>> replaced;
    private final AtomicBoolean worldFailed = new AtomicBoolean();
    private final BlockingQueue<Runnable> tasks = new LinkedBlockingQueue<>();

    // Guarded by this.
    private Thread thread;
    private Store client;
    private boolean closed;

    /**
     * Creates it without thread and connection.
     *
     * @param replaced which ranks of the world were replaced by other processes
     */
    public Diagnosis(String name, Optional<Store> shared, Supplier<List<Integer>> replaced) {
        this.name = name;
        this.shared = shared;
        this.replaced = replaced;
    }

    /**
     * Those of a group of the world.
     *
     * @param worldRanks the ranks of the group
     */
    public Departures departures(UnaryOperator<Store> part, int rank, List<Integer> worldRanks) {
        return new Departures(
                shared.map(part),
                rank,
                worldRanks.size(),
                worldFailed,
                () -> replaced.get().stream().mapToInt(worldRanks::indexOf).filter(i -> i >= 0));
    }

    /**
     * Runs a task after those before it; never, once this is closed. Where no thread is left, it
     * waits for one: nobody must fail for want of an explanation.
     */
    @Override
    public synchronized void execute(Runnable task) {
        if (closed) {
            return;
        }
        tasks.add(task);
        if (thread == null) {
            Thread fresh = new Thread(this::run, "jccl-diagnosis-" + name);
            fresh.setDaemon(true);
            try {
                fresh.start();
                thread = fresh;
            } catch (OutOfMemoryError e) {
                CleanUp.log("diagnosis of " + name, e);
            }
        }
    }

    private void run() {
        while (!isClosed()) {
            try {
                tasks.take().run();
            } catch (InterruptedException e) {
                // Closing ends this thread.
                continue;
            } catch (Throwable e) {
                // One question that goes wrong must not leave later ones without answer.
                CleanUp.log("diagnosis of " + name, e);
            }
        }
    }

    private synchronized boolean isClosed() {
        return closed;
    }

    /** The store, by a connection of this thread's own. */
    public Store client() {
        synchronized (this) {
            if (client != null) {
                return client;
            }
        }
        Store fresh = shared.orElseThrow().duplicate(CONNECT_TIMEOUT);
        synchronized (this) {
            if (!closed) {
                client = fresh;
                return fresh;
            }
        }
        fresh.close();
        throw new StoreException("the group was closed", null);
    }

    /** Ends the thread and its connection, without waiting for either. Idempotent. */
    @Override
    public synchronized void close() {
        if (closed) {
            return;
        }
        closed = true;
        if (thread != null) {
            thread.interrupt();
        }
        if (client != null) {
            client.close();
        }
    }
}
