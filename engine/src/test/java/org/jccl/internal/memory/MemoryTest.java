package org.jccl.internal.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.ref.Reference;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class MemoryTest {

    private final AtomicInteger freed = new AtomicInteger();
    private final Memory memory = Memory.owned(freed::incrementAndGet, "tensor of the test");

    @Test
    void closingFreesOnce() {
        memory.close();
        memory.close();
        assertThat(freed).hasValue(1);
        assertThat(memory.isClosed()).isTrue();
        assertThat(memory.acquire()).isFalse();
    }

    @Test
    void closingWhileInUseFreesAfterTheLastUser() {
        assertThat(memory.acquire()).isTrue();
        assertThat(memory.acquire()).isTrue();
        memory.close();
        memory.close();
        assertThat(memory.acquire()).isFalse();
        memory.release();
        assertThat(freed).hasValue(0);
        memory.release();
        assertThat(freed).hasValue(1);
    }

    /** An operation that ends meanwhile must not free what the action protects. */
    @Test
    void actionsRunOnceBeforeTheMemoryIsFreed() {
        AtomicInteger ran = new AtomicInteger();
        memory.acquire();
        memory.onClose(
                () -> {
                    memory.release();
                    assertThat(freed).hasValue(0);
                    ran.incrementAndGet();
                });
        memory.onClose(ran::incrementAndGet);
        Runnable removal = memory.onClose(ran::incrementAndGet);
        removal.run();
        removal.run();
        memory.close();
        memory.close();
        assertThat(ran).hasValue(2);
        assertThat(freed).hasValue(1);
        removal.run();
        assertThat(memory.onClose(ran::incrementAndGet)).isNull();
    }

    @Test
    void anActionThatThrowsDoesNotLoseTheMemory() {
        memory.onClose(
                () -> {
                    throw new IllegalStateException("of the test");
                });
        assertThatThrownBy(memory::close).hasMessage("of the test");
        assertThat(freed).hasValue(1);
    }

    @Test
    void usersComeAndGo() {
        memory.acquire();
        memory.release();
        assertThat(freed).hasValue(0);
        memory.close();
        assertThat(freed).hasValue(1);
    }

    @Test
    void closersAndUsersOfManyThreadsFreeOnce() throws InterruptedException {
        Thread[] threads = new Thread[8];
        for (int i = 0; i < threads.length; i++) {
            boolean closes = i % 2 == 0;
            threads[i] =
                    new Thread(
                            () -> {
                                for (int round = 0; round < 1000; round++) {
                                    if (memory.acquire()) {
                                        memory.release();
                                    }
                                    if (closes && round == 500) {
                                        memory.close();
                                    }
                                }
                            });
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        assertThat(freed).hasValue(1);
    }

    @Test
    void ofManyLeaksFewAreReported() {
        assertThat(LongStream.rangeClosed(1, 20_000).filter(Leaks::isReported))
                .containsExactly(1L, 2L, 3L, 4L, 5L, 6L, 7L, 8L, 9L, 10L, 100L, 1000L, 10_000L);
    }

    @Test
    void forgottenMemoryIsReportedAndNotFreed() throws InterruptedException {
        CountDownLatch reported = new CountDownLatch(1);
        Handler listener =
                new Handler() {
                    @Override
                    public void publish(LogRecord message) {
                        Object[] words = message.getParameters();
                        if (words != null && "forgotten".equals(words[0])) {
                            reported.countDown();
                        }
                    }

                    @Override
                    public void flush() {}

                    @Override
                    public void close() {}
                };
        // Held here, since the log manager may drop it between two uses.
        Logger logger = Logger.getLogger("org.jccl.Tensor");
        logger.addHandler(listener);
        try {
            Memory.owned(freed::incrementAndGet, "forgotten");
            boolean seen = false;
            for (int i = 0; i < 100 && !seen; i++) {
                System.gc();
                seen = reported.await(50, TimeUnit.MILLISECONDS);
            }
            assertThat(seen).isTrue();
            assertThat(freed).hasValue(0);
        } finally {
            logger.removeHandler(listener);
            Reference.reachabilityFence(logger);
        }
    }
}
