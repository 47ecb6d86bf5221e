package org.jccl.conformance;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.jccl.OperationTimeoutException;
import org.jccl.ProcessGroup;
import org.jccl.Store;
import org.jccl.StoreTimeoutException;
import org.jccl.store.HashStore;

/**
 * Ranks as threads of this process. The first failure of any rank aborts the groups of all and is
 * what the test fails with.
 */
final class ThreadRanks implements Ranks {

    private static final Duration DEADLINE = Ranks.onThisHost(150);

    /**
     * How often a world with a short deadline is formed at most. The deadline also limits joining,
     * which may take longer on a busy host.
     */
    private static final int ATTEMPTS = 5;

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
        int attempts = 1;
        if (timeout.compareTo(TIMEOUT) < 0) {
            LOADED.computeIfAbsent(backend.getClass(), any -> hasRun(size));
            attempts = ATTEMPTS;
        }
        while (!new Attempt(size, timeout, body, attempts > 1).hasRun()) {
            attempts--;
        }
    }

    private boolean hasRun(int size) {
        return new Attempt(size, TIMEOUT, rank -> {}, false).hasRun();
    }

    /** One world and what its ranks do. */
    private final class Attempt {

        private final int size;
        private final Duration timeout;
        private final Body body;
        private final CountDownLatch joining;
        private final AtomicReference<Throwable> failure = new AtomicReference<>();
        private final Queue<ProcessGroup> groups = new ConcurrentLinkedQueue<>();
        private volatile boolean joinedTooLate;

        /**
         * @param another whether another attempt follows if a rank joins too late. All ranks must
         *     have joined before any of them runs the body then.
         */
        Attempt(int size, Duration timeout, Body body, boolean another) {
            this.size = size;
            this.timeout = timeout;
            this.body = body;
            joining = new CountDownLatch(another ? size : 0);
        }

        /** Returns false if another attempt follows, because a rank joined too late. */
        boolean hasRun() {
            List<Thread> threads = new ArrayList<>();
            boolean another = joining.getCount() > 0;
            try (Store store = HashStore.create(TIMEOUT)) {
                for (int i = 0; i < size; i++) {
                    int rank = i;
                    Thread thread = new Thread(() -> run(store, rank), "rank-" + rank);
                    thread.setDaemon(true);
                    threads.add(thread);
                    thread.start();
                }
                long deadline = System.nanoTime() + DEADLINE.toNanos();
                for (Thread thread : threads) {
                    joinBefore(deadline, thread);
                }
            }
            if (another && joinedTooLate) {
                return false;
            }
            if (failure.get() != null) {
                throw new AssertionError("a rank failed: " + failure.get(), failure.get());
            }
            return true;
        }

        private void run(Store store, int rank) {
            try (ProcessGroup group = join(store, rank)) {
                joining.await();
                if (failure.get() != null) {
                    return;
                }
                body.run(new Rank(group, store, backend));
            } catch (Throwable e) {
                fail(e);
            }
        }

        private ProcessGroup join(Store store, int rank) {
            try {
                ProcessGroup group = backend.join(store, rank, size, timeout);
                groups.add(group);
                return group;
            } catch (Throwable e) {
                if (e instanceof OperationTimeoutException || e instanceof StoreTimeoutException) {
                    joinedTooLate = true;
                }
                fail(e);
                throw e;
            } finally {
                joining.countDown();
            }
        }

        private void joinBefore(long deadline, Thread thread) {
            try {
                thread.join(
                        Math.max(1, TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime())));
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                fail(e);
                return;
            }
            if (thread.isAlive()) {
                AssertionError late = new AssertionError(thread.getName() + " is not done in time");
                late.setStackTrace(thread.getStackTrace());
                fail(late);
            }
        }

        private void fail(Throwable cause) {
            if (failure.compareAndSet(null, cause)) {
                groups.forEach(ProcessGroup::abort);
            }
        }
    }
}
