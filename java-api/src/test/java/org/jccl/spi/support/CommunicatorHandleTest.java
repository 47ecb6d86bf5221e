package org.jccl.spi.support;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.jccl.testing.Patience.enough;
import static org.jccl.testing.Patience.expires;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jccl.FailureContext;
import org.jccl.GroupAbortedException;
import org.jccl.NativeException;
import org.jccl.spi.BoundedCall;
import org.jccl.testing.AddressSpace;
import org.jccl.testing.ChildJvm;
import org.junit.jupiter.api.Test;

final class CommunicatorHandleTest {

    /** Notes what it is told to do, and ends in good order only when it may. */
    private static final class Handle extends CommunicatorHandle {

        final List<String> told = new CopyOnWriteArrayList<>();
        final CountDownLatch mayEnd;
        RuntimeException failure;

        Handle(Duration patience, CountDownLatch mayEnd) {
            super("Library", "world", patience);
            this.mayEnd = mayEnd;
        }

        static Handle quick() {
            return new Handle(enough(Duration.ofSeconds(60)), new CountDownLatch(0));
        }

        void enter() {
            acquire();
        }

        @Override
        protected void endNow() {
            boolean alone = tryAcquire(enough(Duration.ofSeconds(60)));
            told.add(Thread.currentThread().getName());
            if (alone) {
                leave();
            }
        }

        @Override
        protected void endInOrder() {
            told.add(Thread.currentThread().getName());
            try {
                mayEnd.await();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
            if (failure != null) {
                throw failure;
            }
        }

        @Override
        protected void free() {
            told.add("free");
        }

        @Override
        protected String leftBehind(boolean inOrder) {
            told.add("left behind, in order " + inOrder);
            return "was not freed";
        }
    }

    @Test
    void isClosedInOrderOnce() {
        Handle handle = Handle.quick();
        assertThat(handle.isOpen()).isTrue();
        assertThat(handle.close()).isTrue();
        handle.abort();
        assertThat(handle.isOpen()).isFalse();
        assertThat(handle.told).containsExactly("jccl-library-close-world", "free");
        assertThatThrownBy(handle::enter)
                .isInstanceOf(GroupAbortedException.class)
                .hasMessageContaining("Library communicator was aborted or closed");
    }

    @Test
    void anAbortEndsItOnceAndWaitsForTheTurn() throws Exception {
        Handle handle = Handle.quick();
        handle.enter();
        assertThat(handle.isInside()).isTrue();
        handle.abort();
        handle.abort();
        assertThat(handle.told).isEmpty();
        handle.leave();
        assertThat(handle.close()).isTrue();
        assertThat(handle.told).containsExactly("jccl-library-abort-world", "free");
        assertThat(handle.isInside()).isFalse();
    }

    /** Another thread may never leave the library. */
    @Test
    void aWaitForTheTurnEndsWithTheAbort() throws Exception {
        Handle handle = Handle.quick();
        handle.enter();
        CompletableFuture<Throwable> outcome = new CompletableFuture<>();
        Thread waiting =
                new Thread(
                        () -> {
                            Thread.currentThread().interrupt();
                            Throwable thrown = catchThrowable(handle::enter);
                            outcome.complete(
                                    Thread.currentThread().isInterrupted()
                                            ? thrown
                                            : new AssertionError("the flag is lost"));
                        });
        waiting.start();
        handle.abort(new NativeException(FailureContext.NONE, "library", 1, "the first cause"));
        assertThat(outcome.get(60, TimeUnit.SECONDS))
                .isInstanceOf(GroupAbortedException.class)
                .hasMessageContaining("the Library communicator was aborted")
                .hasMessageContaining("the first cause");
        assertThat(handle.told).isEmpty();
        handle.leave();
        assertThat(handle.close()).isTrue();
    }

    /** But it is not freed before the library has answered. */
    @Test
    void anAbortDoesNotWaitForAnAnswer() throws Exception {
        Handle handle = Handle.quick();
        assertThat(handle.ask(() -> 1)).contains(1);
        CountDownLatch isAsked = new CountDownLatch(1);
        CountDownLatch answers = new CountDownLatch(1);
        CompletableFuture<Optional<Boolean>> answer =
                CompletableFuture.supplyAsync(
                        () ->
                                handle.ask(
                                        () -> {
                                            isAsked.countDown();
                                            awaitQuietly(answers);
                                            return handle.told.isEmpty();
                                        }));
        isAsked.await();
        handle.abort();
        assertThat(handle.told).isEmpty();
        answers.countDown();
        assertThat(answer.get(60, TimeUnit.SECONDS)).contains(true);
        assertThat(handle.close()).isTrue();
        assertThat(handle.ask(() -> 1)).isEmpty();
    }

    private static void awaitQuietly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void anInterruptDoesNotEndALimitedWait() {
        Handle handle = Handle.quick();
        Thread.currentThread().interrupt();
        assertThat(handle.tryAcquire(enough(Duration.ofSeconds(60)))).isTrue();
        handle.leave();
        assertThat(Thread.interrupted()).isTrue();
    }

    @Test
    void whatDoesNotEndInTimeKeepsWhatItUses() {
        CountDownLatch mayEnd = new CountDownLatch(1);
        Handle handle = new Handle(expires(Duration.ofMillis(1)), mayEnd);
        assertThat(handle.close()).isFalse();
        assertThat(handle.told).contains("left behind, in order true").doesNotContain("free");
        mayEnd.countDown();
    }

    @Test
    void aFailureToEndIsNotTheCallers() {
        Handle handle = Handle.quick();
        handle.failure = new NativeException(FailureContext.NONE, "library", 1, "no");
        assertThat(handle.close()).isFalse();
        assertThat(handle.told).containsExactly("jccl-library-close-world");
    }

    @Test
    void anInterruptedThreadIsLetInAndStaysInterrupted() throws Exception {
        Handle handle = Handle.quick();
        Thread.currentThread().interrupt();
        assertThat(handle.tryAcquire(Duration.ZERO)).isTrue();
        handle.leave();
        assertThat(handle.tryAcquire(enough(Duration.ofSeconds(60)))).isTrue();
        assertThat(Thread.currentThread().isInterrupted()).isTrue();
        AtomicBoolean inside = new AtomicBoolean(true);
        AtomicBoolean flag = new AtomicBoolean();
        Thread other =
                new Thread(
                        () -> {
                            Thread.currentThread().interrupt();
                            inside.set(handle.tryAcquire(expires(Duration.ofMillis(1))));
                            flag.set(Thread.currentThread().isInterrupted());
                        });
        other.start();
        assertThat(Thread.interrupted()).isTrue();
        other.join();
        assertThat(inside).isFalse();
        assertThat(flag).isTrue();
        handle.leave();
    }

    @Test
    void anAbortForWhichNoThreadIsLeftIsRepeated() throws Exception {
        ChildJvm.outputOf(NoThreads.class, Map.of());
    }

    /** A process whose address space has no room for the stack of another thread. */
    static final class NoThreads {

        public static void main(String[] arguments) throws Exception {
            Handle handle = Handle.quick();
            CountDownLatch end = new CountDownLatch(1);
            AddressSpace.releaseAfter(3);
            AddressSpace.fill();
            while (isStarted(end)) {
                assertThat(handle.isOpen()).isTrue();
            }
            assertThatThrownBy(handle::abort).isInstanceOf(OutOfMemoryError.class);
            assertThatThrownBy(handle::enter).isInstanceOf(GroupAbortedException.class);
            assertThat(handle.close()).as("closed although nothing ended it").isFalse();
            assertThat(handle.told).isEmpty();
            end.countDown();
            while (!handle.close()) {
                Thread.sleep(100); // until the limit is lifted
            }
            assertThat(handle.told).containsExactly("jccl-library-abort-world", "free");
        }

        private static boolean isStarted(CountDownLatch end) {
            try {
                BoundedCall.start(
                        "takes its room",
                        () -> {
                            try {
                                end.await();
                            } catch (InterruptedException e) {
                                throw new AssertionError(e);
                            }
                        });
                return true;
            } catch (OutOfMemoryError e) {
                return false;
            }
        }
    }
}
