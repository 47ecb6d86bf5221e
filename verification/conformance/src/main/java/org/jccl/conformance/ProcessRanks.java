package org.jccl.conformance;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;
import org.jccl.ProcessGroup;
import org.jccl.Store;
import org.jccl.store.PrefixStore;
import org.opentest4j.TestAbortedException;

/**
 * Ranks as processes that run the same tests in the same order: each does its own rank's part of a
 * body. A body for more ranks than there are is left out, and its test is skipped when nothing else
 * of it ran.
 */
public final class ProcessRanks implements Ranks {

    /** Long enough for ranks whose last case failed by its deadline. */
    private static final Duration UNTIL_OTHERS_COME = Duration.ofMinutes(5);

    private final ConformanceBackend backend;
    private final int rank;
    private final int processes;
    private final Store store;
    private final String test;
    private final Worlds worlds;
    private int bodies;
    private int ran;
    private volatile ProcessGroup group;

    /**
     * Creates the ranks of one test, with a new world for each body.
     *
     * @param backend makes the groups
     * @param rank of this process
     * @param processes how many there are
     * @param store shared by all
     * @param test the same for all processes, and of this test only
     */
    public ProcessRanks(
            ConformanceBackend backend, int rank, int processes, Store store, String test) {
        this(backend, rank, processes, store, test, null);
    }

    /**
     * Creates the ranks of one test.
     *
     * @param backend makes the groups
     * @param rank of this process
     * @param processes how many there are
     * @param store shared by all
     * @param test the same for all processes, and of this test only
     * @param worlds that bodies with the ordinary deadline share; null to form one for each body
     */
    ProcessRanks(
            ConformanceBackend backend,
            int rank,
            int processes,
            Store store,
            String test,
            Worlds worlds) {
        this.backend = backend;
        this.rank = rank;
        this.processes = processes;
        this.store = store;
        this.test = test;
        this.worlds = worlds;
    }

    /** The world of the body that runs. */
    ProcessGroup group() {
        return group;
    }

    @Override
    public void run(int size, Duration timeout, Body body) {
        String name = test + "/" + bodies++;
        if (size > processes) {
            if (ran == 0) {
                throw new TestAbortedException("needs " + size + " ranks, there are " + processes);
            }
            return;
        }
        ran++;
        Store shared = new PrefixStore(name, store);
        if (rank >= size) {
            // A rank that ran ahead would wait in its next case, whose time may then be over.
            shared.await(keys("over", size), UNTIL_OTHERS_COME);
            return;
        }
        try {
            run(size, timeout, body, name, shared);
        } finally {
            shared.set("over/" + rank, new byte[0]);
        }
    }

    private static List<String> keys(String event, int size) {
        return IntStream.range(0, size).mapToObj(each -> event + "/" + each).toList();
    }

    private void run(int size, Duration timeout, Body body, String name, Store shared) {
        boolean shares = worlds != null && timeout.equals(TIMEOUT);
        String kept = shares ? worlds.name(size) : Worlds.NONE;
        boolean reuses = meet(shared, size, kept);
        ProcessGroup earlier = shares ? worlds.take(size) : null;
        group = reuses ? earlier : form(shared, size, timeout, earlier);
        boolean isSound = false;
        try (RankTensors tensors = new RankTensors();
                FailureWatch watch = new FailureWatch(shared, group)) {
            try {
                body.run(new Rank(group, shared, backend, tensors));
            } catch (Throwable e) {
                watch.report(rank + ": " + e);
                throw e;
            }
            // Nobody leaves while another needs this rank's group.
            shared.set("done/" + rank, new byte[0]);
            watch.await(keys("done", size));
            isSound = true;
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Exception e) {
            throw new AssertionError("rank " + rank + " failed: " + e, e);
        } finally {
            if (shares && isSound) {
                worlds.keep(size, reuses ? kept : name, group);
            } else {
                group.close();
            }
        }
    }

    /**
     * Waits for the ranks of a body. A short timeout is for what the case is about, not for ranks
     * that are late from the last.
     *
     * @param kept name of the world that this rank has from an earlier case
     * @return whether all ranks have that world; a rank on which the last case failed has none
     */
    private boolean meet(Store shared, int size, String kept) {
        shared.set("ready/" + rank, kept.getBytes(StandardCharsets.UTF_8));
        List<String> ready = keys("ready", size);
        shared.await(ready, UNTIL_OTHERS_COME);
        return !kept.equals(Worlds.NONE)
                && ready.stream()
                        .map(key -> new String(shared.get(key), StandardCharsets.UTF_8))
                        .allMatch(kept::equals);
    }

    private ProcessGroup form(Store shared, int size, Duration timeout, ProcessGroup unusable) {
        if (unusable != null) {
            // Other ranks have left it.
            unusable.abort();
            unusable.close();
        }
        return backend.join(shared, rank, size, timeout);
    }

    /** Aborts this rank's group when the body fails on any rank, so that none waits in vain. */
    private static final class FailureWatch implements AutoCloseable {

        private static final String KEY = "failed";
        private static final long POLL_MILLIS = 100;

        private final Store store;
        private final ProcessGroup group;
        private final Thread thread;
        private volatile boolean over;

        FailureWatch(Store store, ProcessGroup group) {
            this.store = store;
            this.group = group;
            this.thread = new Thread(this::watch, "failure-watch");
            thread.setDaemon(true);
            thread.start();
        }

        void report(String failure) {
            store.set(KEY, failure.getBytes(StandardCharsets.UTF_8));
            group.abort();
        }

        private void watch() {
            while (!over) {
                if (hasFailed()) {
                    group.abort();
                    return;
                }
                pause();
            }
        }

        private boolean hasFailed() {
            return store.check(List.of(KEY));
        }

        /** Waits for keys; fails when a rank has failed or the time is over. */
        void await(List<String> keys) {
            long deadline = System.nanoTime() + TIMEOUT.toNanos();
            while (!store.check(keys)) {
                if (hasFailed()) {
                    String failure = new String(store.get(KEY), StandardCharsets.UTF_8);
                    throw new AssertionError("failed on another rank, " + failure);
                }
                if (System.nanoTime() - deadline > 0) {
                    throw new AssertionError("other ranks are not done in " + TIMEOUT);
                }
                pause();
            }
        }

        private static void pause() {
            try {
                Thread.sleep(POLL_MILLIS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException("the test's time is over", e);
            }
        }

        @Override
        public void close() {
            over = true;
        }
    }
}
