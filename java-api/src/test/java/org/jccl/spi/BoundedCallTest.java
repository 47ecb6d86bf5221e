package org.jccl.spi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.jccl.testing.Patience.enough;
import static org.jccl.testing.Patience.expires;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.Test;

final class BoundedCallTest {

    private static final Duration LONG = enough(Duration.ofSeconds(60));

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
        assertThat(call.await(expires(Duration.ofMillis(1)))).isFalse();
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

    /** Its caller throws in any case. */
    @Test
    void anExceptionIsNotLoggedIfTheCallerChecksWhileItWaits() {
        List<String> logged = new CopyOnWriteArrayList<>();
        Handler handler =
                new Handler() {
                    @Override
                    public void publish(LogRecord entry) {
                        if (String.valueOf(entry.getMessage()).startsWith("checked")) {
                            logged.add(entry.getMessage());
                        }
                    }

                    @Override
                    public void flush() {}

                    @Override
                    public void close() {}
                };
        Logger logger = Logger.getLogger(CleanUp.class.getName());
        logger.addHandler(handler);
        try {
            CountDownLatch checked = new CountDownLatch(2);
            BoundedCall call =
                    BoundedCall.start(
                            "checked",
                            () -> {
                                waitFor(checked);
                                throw new IllegalStateException("as intended");
                            });
            assertThatThrownBy(
                            () ->
                                    call.await(
                                            LONG,
                                            expires(Duration.ofMillis(1)),
                                            checked::countDown))
                    .hasMessage("as intended");
        } finally {
            logger.removeHandler(handler);
        }
        assertThat(logged).isEmpty();
    }

    @Test
    void whatACheckThrowsEndsTheWait() {
        CountDownLatch end = new CountDownLatch(1);
        BoundedCall call = BoundedCall.start("slow", () -> waitFor(end));
        Runnable check =
                () -> {
                    throw new IllegalStateException("the group failed");
                };
        assertThatThrownBy(() -> call.await(LONG, expires(Duration.ofMillis(1)), check))
                .hasMessage("the group failed");
        end.countDown();
    }

    @Test
    void interruptsAreKept() {
        CountDownLatch end = new CountDownLatch(1);
        BoundedCall call = BoundedCall.start("slow", () -> waitFor(end));
        Thread.currentThread().interrupt();
        assertThat(call.await(expires(Duration.ofMillis(1)))).isFalse();
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
