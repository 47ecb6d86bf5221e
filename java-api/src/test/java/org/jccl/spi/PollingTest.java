package org.jccl.spi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.jccl.testing.Patience.expires;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

final class PollingTest {

    @Test
    void sleepsGrowUpToALimit() {
        assertThat(Polling.sleepNanos(0)).isEqualTo(20_000);
        assertThat(Polling.sleepNanos(100)).isEqualTo(50_000);
        assertThat(Polling.sleepNanos(1_600)).isEqualTo(500_000);
        assertThat(Polling.sleepNanos(Long.MAX_VALUE)).isEqualTo(500_000);
    }

    @Test
    void aLongWaitLeavesItsProcessorToOthers() {
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        long processorTime = threads.getCurrentThreadCpuTime();
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(2);
        for (long polls = 0; System.nanoTime() - end < 0; polls++) {
            Polling.pause(polls, 10);
        }
        assertThat(threads.getCurrentThreadCpuTime() - processorTime)
                .isLessThan(TimeUnit.MILLISECONDS.toNanos(200));
    }

    @Test
    void anInterruptShortensNoPause() {
        long start = System.nanoTime();
        Thread.currentThread().interrupt();
        for (long polls = 0; polls < 100; polls++) {
            Polling.pause(polls, 0);
        }
        assertThat(System.nanoTime() - start).isGreaterThanOrEqualTo(100 * Polling.sleepNanos(0));
        start = System.nanoTime();
        Polling.sleep(expires(Duration.ofMillis(20)));
        assertThat(System.nanoTime() - start).isGreaterThanOrEqualTo(20_000_000);
        assertThat(Thread.interrupted()).as("flag").isTrue();
    }
}
