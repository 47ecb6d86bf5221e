package org.jccl.conformance;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.jccl.ProcessGroup;
import org.jccl.Store;
import org.jccl.store.HashStore;

/**
 * Ranks as threads of this process. The first failure of any rank aborts the groups of all and is
 * what the test fails with.
 */
final class ThreadRanks implements Ranks {

    private static final Duration DEADLINE = Ranks.onThisHost(60);

    /**
     * Of these a world was formed before. The first one of a process loads the library and all
     * code, beside other tests that do, which may take longer than a short deadline.
     */
    private static final Map<Class<?>, Boolean> LOADED = new ConcurrentHashMap<>();

    private final ConformanceBackend backend;

    ThreadRanks(ConformanceBackend backend) {
        this.backend = backend;
    }

    @Override
    public void run(int size, Duration timeout, Body body) {
        if (timeout.compareTo(TIMEOUT) < 0) {
            LOADED.computeIfAbsent(backend.getClass(), any -> hasRun(size));
        }
        runHere(size, timeout, body);
    }

    private boolean hasRun(int size) {
        runHere(size, TIMEOUT, rank -> {});
        return true;
    }

    private void runHere(int size, Duration timeout, Body body) {
        AtomicReference<Throwable> failure = new AtomicReference<>();
        Queue<ProcessGroup> groups = new ConcurrentLinkedQueue<>();
        List<Thread> threads = new ArrayList<>();
        try (Store store = HashStore.create(TIMEOUT)) {
            for (int i = 0; i < size; i++) {
                int rank = i;
                Thread thread =
                        new Thread(
                                () -> {
                                    try (ProcessGroup group =
                                            backend.join(store, rank, size, timeout)) {
                                        groups.add(group);
                                        if (failure.get() != null) {
                                            return;
                                        }
                                        body.run(new Rank(group, store, backend));
                                    } catch (Throwable e) {
                                        fail(failure, groups, e);
                                    }
                                },
                                "rank-" + rank);
                thread.setDaemon(true);
                threads.add(thread);
                thread.start();
            }
            long deadline = System.nanoTime() + DEADLINE.toNanos();
            for (Thread thread : threads) {
                joinBefore(deadline, thread, failure, groups);
            }
        }
        if (failure.get() != null) {
            throw new AssertionError("a rank failed: " + failure.get(), failure.get());
        }
    }

    private static void joinBefore(
            long deadline,
            Thread thread,
            AtomicReference<Throwable> failure,
            Queue<ProcessGroup> groups) {
        try {
            thread.join(Math.max(1, TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime())));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            fail(failure, groups, e);
            return;
        }
        if (thread.isAlive()) {
            AssertionError late = new AssertionError(thread.getName() + " is not done in time");
            late.setStackTrace(thread.getStackTrace());
            fail(failure, groups, late);
        }
    }

    private static void fail(
            AtomicReference<Throwable> failure, Queue<ProcessGroup> groups, Throwable cause) {
        if (failure.compareAndSet(null, cause)) {
            groups.forEach(ProcessGroup::abort);
        }
    }
}
