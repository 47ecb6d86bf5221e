package org.jccl.conformance;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
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

    private static final Duration DEADLINE = Ranks.onThisHost(150);

    private final ConformanceBackend backend;

    ThreadRanks(ConformanceBackend backend) {
        this.backend = backend;
    }

    @Override
    public void run(int size, Duration timeout, Body body) {
        new World(size, timeout, body).run();
    }

    /** One world and what its ranks do. */
    private final class World {

        private final int size;
        private final Duration timeout;
        private final Body body;

        /** A short deadline is for the body: it must not start before all ranks have joined. */
        private final CountDownLatch joining;

        private final AtomicReference<Throwable> failure = new AtomicReference<>();
        private final Queue<ProcessGroup> groups = new ConcurrentLinkedQueue<>();

        World(int size, Duration timeout, Body body) {
            this.size = size;
            this.timeout = timeout;
            this.body = body;
            this.joining = new CountDownLatch(timeout.compareTo(TIMEOUT) < 0 ? size : 0);
        }

        void run() {
            List<Thread> threads = new ArrayList<>();
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
            if (failure.get() != null) {
                throw new AssertionError("a rank failed: " + failure.get(), failure.get());
            }
        }

        private void run(Store store, int rank) {
            try (RankTensors tensors = new RankTensors();
                    ProcessGroup group = join(store, rank)) {
                joining.await();
                if (failure.get() != null) {
                    return;
                }
                body.run(new Rank(group, store, backend, tensors));
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
