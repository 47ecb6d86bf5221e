package org.jccl.internal.engine;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.jccl.FailureContext;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class FutureThreadTest {

    private static final FailureContext GROUP = FailureContext.ofGroup("futures", 0);

    @Test
    void oneExceptionDoesNotLeaveLaterFuturesBehind() throws Exception {
        AtomicInteger calls = new AtomicInteger();
        CountDownLatch again = new CountDownLatch(1);
        FutureThread futures =
                new FutureThread(
                        GROUP,
                        () -> {},
                        () -> {
                            if (calls.incrementAndGet() == 1) {
                                throw new IllegalStateException("as the test wants");
                            }
                            again.countDown();
                        });
        futures.begin();
        again.await();
        futures.end();
        assertThat(calls.get()).isGreaterThan(1);
    }

    @Test
    void aThreadThatCanNotBePreparedIsPreparedAgain() throws Exception {
        AtomicInteger calls = new AtomicInteger();
        CountDownLatch completed = new CountDownLatch(1);
        FutureThread futures =
                new FutureThread(
                        GROUP,
                        () -> {
                            if (calls.incrementAndGet() == 1) {
                                throw new OutOfMemoryError("as the test wants");
                            }
                        },
                        completed::countDown);
        futures.begin();
        completed.await();
        futures.end();
        assertThat(calls).hasValue(2);
    }

    @Test
    void aFutureIsCompletedWithoutAnotherThread() {
        AtomicBoolean completed = new AtomicBoolean();
        FutureThread.complete(
                task -> {
                    throw new OutOfMemoryError("unable to create native thread");
                },
                () -> completed.set(true));
        assertThat(completed).isTrue();
    }
}
