package org.jccl.spi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;

final class BoundedCallTest {

    private static final Duration LONG = Duration.ofSeconds(60);

    @Test
    void waitsForATaskThatEnds() {
        Thread[] ranOn = new Thread[1];
        assertThat(BoundedCall.run("mine", () -> ranOn[0] = Thread.currentThread(), LONG)).isTrue();
        assertThat(ranOn[0].getName()).isEqualTo("mine");
        assertThat(ranOn[0].isDaemon()).isTrue();
    }

    /** More than a thread's default stack has room for. */
    @Test
    void hasAStackForLibrariesThatSearchByRecursion() {
        assertThat(BoundedCall.run("deep", () -> descend(200_000), LONG)).isTrue();
    }

    private static int descend(int depth) {
        return depth == 0 ? 0 : 1 + descend(depth - 1);
    }

    @Test
    void leavesATaskBehindThatDoesNotEndInTime() {
        CountDownLatch end = new CountDownLatch(1);
        BoundedCall call = BoundedCall.start("slow", () -> waitFor(end));
        assertThat(call.await(Duration.ofMillis(1))).isFalse();
        end.countDown();
        assertThat(call.await(LONG)).isTrue();
    }

    @Test
    void throwsWhatTheTaskThrew() {
        IllegalStateException failure = new IllegalStateException();
        assertThatThrownBy(
                        () ->
                                BoundedCall.run(
                                        "bad",
                                        () -> {
                                            throw failure;
                                        },
                                        LONG))
                .isSameAs(failure);
        assertThatThrownBy(
                        () ->
                                BoundedCall.run(
                                        "bad",
                                        () -> {
                                            throw new LinkageError();
                                        },
                                        LONG))
                .isInstanceOf(LinkageError.class);
    }

    @Test
    void interruptsAreKept() {
        CountDownLatch end = new CountDownLatch(1);
        BoundedCall call = BoundedCall.start("slow", () -> waitFor(end));
        Thread.currentThread().interrupt();
        assertThat(call.await(Duration.ofMillis(1))).isFalse();
        assertThat(Thread.interrupted()).isTrue();
        end.countDown();
    }

    private static void waitFor(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
