package org.jccl.spi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.jccl.testing.Patience.enough;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
final class DeadlineTest {

    /** Longer than a long counts in nanoseconds. */
    private static final Duration FOREVER = enough(Duration.ofSeconds(Long.MAX_VALUE / 1000));

    @Test
    void anInterruptDoesNotEndAWaitAndStays() throws InterruptedException {
        CountDownLatch end = new CountDownLatch(1);
        boolean[] seen = new boolean[2];
        Thread waiter =
                new Thread(
                        () -> {
                            seen[0] =
                                    Deadline.after(enough(Duration.ofSeconds(30)))
                                            .await(nanos -> end.await(nanos, TimeUnit.NANOSECONDS));
                            seen[1] = Thread.currentThread().isInterrupted();
                        });
        waiter.start();
        waiter.interrupt();
        end.countDown();
        waiter.join();
        assertThat(seen).containsExactly(true, true);
    }

    @Test
    void whatHasPassedLeavesNoTime() {
        Deadline passed = Deadline.after(Duration.ZERO.minusNanos(1));
        assertThat(passed.hasPassed()).isTrue();
        assertThat(passed.left()).isZero();
        assertThat(passed.atMost(enough(Duration.ofMillis(1)))).isZero();
        assertThat(passed.<Long>await(nanos -> nanos)).isZero();
    }

    @Test
    void aStepTakesAtMostItsOwnTime() {
        Duration step = enough(Duration.ofMillis(1));
        assertThat(Deadline.none().atMost(step)).isEqualTo(step);
        assertThat(Deadline.after(FOREVER).hasPassed()).isFalse();
    }
}
