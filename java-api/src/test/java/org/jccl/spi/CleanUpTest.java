package org.jccl.spi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.jccl.testing.Patience.enough;
import static org.jccl.testing.Patience.expires;

import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.jccl.FailureContext;
import org.jccl.NativeException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

final class CleanUpTest {

    private static final Duration LONG = enough(Duration.ofSeconds(60));
    private static final String LOGGED = "libmine failed with code 3: mineAbort: no";

    private final Logger logger = Logger.getLogger(CleanUp.class.getName());
    private final BlockingQueue<String> messages = new LinkedBlockingQueue<>();

    private final Handler handler =
            new Handler() {
                @Override
                public void publish(LogRecord record) {
                    messages.add(record.getMessage());
                }

                @Override
                public void flush() {}

                @Override
                public void close() {}
            };

    @BeforeEach
    void listen() {
        logger.addHandler(handler);
        logger.setUseParentHandlers(false);
    }

    @AfterEach
    void stopListening() {
        logger.removeHandler(handler);
        logger.setUseParentHandlers(true);
    }

    private static void fail() {
        throw new NativeException(FailureContext.NONE, "libmine", 3, "mineAbort: no");
    }

    @Test
    void callAndCodeAreLogged() {
        CleanUp.run("group {0}", CleanUpTest::fail);
        assertThat(messages).containsExactly("group {0}: " + LOGGED);
    }

    @Test
    void whatIsNoFailureOfALibraryIsLoggedToo() {
        CleanUp.run(
                "group",
                () -> {
                    throw new IllegalStateException("a mistake");
                });
        assertThat(messages).hasSize(1);
        assertThat(messages.peek()).startsWith("group: ").contains("a mistake");
    }

    @Test
    void aCallThatNobodyWaitsForLogsItsFailure() throws Exception {
        BoundedCall.start("mine-abort", CleanUpTest::fail);
        assertThat(messages.poll(60, TimeUnit.SECONDS)).isEqualTo("mine-abort: " + LOGGED);
    }

    @Test
    void aCallThatWasLeftBehindLogsItsFailure() throws Exception {
        CountDownLatch end = new CountDownLatch(1);
        boolean done =
                BoundedCall.run(
                        "mine-connect",
                        () -> {
                            try {
                                end.await();
                            } catch (InterruptedException e) {
                                throw new IllegalStateException(e);
                            }
                            fail();
                        },
                        expires(Duration.ofMillis(1)));
        assertThat(done).isFalse();
        end.countDown();
        assertThat(messages.poll(60, TimeUnit.SECONDS)).isEqualTo("mine-connect: " + LOGGED);
    }

    @Test
    void aFailureThatIsThrownIsNotLogged() {
        assertThatThrownBy(() -> BoundedCall.run("mine", CleanUpTest::fail, LONG))
                .isInstanceOf(NativeException.class);
        assertThat(messages).isEmpty();
    }
}
