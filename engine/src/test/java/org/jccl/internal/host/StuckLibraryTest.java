package org.jccl.internal.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.jccl.testing.Patience.expires;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.jccl.DataType;
import org.jccl.FailureContext;
import org.jccl.GroupAbortedException;
import org.jccl.JcclException;
import org.jccl.ReduceOp;
import org.jccl.UsageException;
import org.jccl.Work;
import org.jccl.internal.diagnosis.DesyncDetector;
import org.jccl.internal.operation.Operation;
import org.jccl.spi.OperationKind;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A thread that never leaves the library, whatever becomes of the group: the others go on. */
class StuckLibraryTest {

    /** Also how long an aborted operation may stay inside. */
    private static final Duration TIMEOUT = expires(Duration.ofMillis(500));

    private final ScriptedCommunicator library = new ScriptedCommunicator();
    private final CountDownLatch isInside = new CountDownLatch(1);
    private boolean released;

    private final HostEngine engine =
            new HostEngine(
                    library.communicator(),
                    FailureContext.ofGroup("g", 0),
                    TIMEOUT,
                    new DesyncDetector(Optional.empty(), 0, 2),
                    TensorLocation.HOST);

    @BeforeEach
    void theFirstCallIsStuck() {
        library.inside = this::stayInside;
    }

    private void stayInside() {
        isInside.countDown();
        // Which lets other calls in.
        synchronized (library) {
            while (!released) {
                try {
                    library.wait();
                } catch (InterruptedException e) {
                    throw new AssertionError(e);
                }
            }
        }
    }

    @AfterEach
    void release() {
        synchronized (library) {
            released = true;
            library.notifyAll();
        }
    }

    private Operation sum(Operation operation) {
        operation.kind = OperationKind.ALL_REDUCE;
        operation.type = DataType.FLOAT32;
        operation.count = 4;
        operation.op = ReduceOp.SUM;
        return operation;
    }

    private void run() {
        engine.run(sum(engine.borrow()));
    }

    private Work submit() {
        return engine.submit(sum(engine.newOperation()));
    }

    private static CompletableFuture<Throwable> inThread(ThrowingCallable action) {
        CompletableFuture<Throwable> outcome = new CompletableFuture<>();
        start(action, outcome);
        return outcome;
    }

    private static Thread start(ThrowingCallable action, CompletableFuture<Throwable> outcome) {
        Thread thread = new Thread(() -> outcome.complete(catchThrowable(action)), "other");
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    private static CompletableFuture<Throwable> inBlockedThread(ThrowingCallable action)
            throws InterruptedException {
        CompletableFuture<Throwable> outcome = new CompletableFuture<>();
        Thread thread = start(action, outcome);
        while (thread.getState() == Thread.State.NEW
                || thread.getState() == Thread.State.RUNNABLE) {
            Thread.sleep(1);
        }
        assertThat(outcome).isNotDone();
        return outcome;
    }

    private static Throwable outcome(CompletableFuture<Throwable> thread) throws Exception {
        return thread.get(60, TimeUnit.SECONDS);
    }

    private void fail() {
        engine.fail(new GroupAbortedException(FailureContext.NONE, "the first cause"));
    }

    private static void assertFailed(CompletableFuture<Throwable> call) throws Exception {
        assertThat(outcome(call))
                .isInstanceOf(GroupAbortedException.class)
                .hasMessageContaining("the first cause");
    }

    @Test
    void callsBehindASynchronousOneEndWithTheGroup() throws Exception {
        inThread(this::run);
        isInside.await();
        CompletableFuture<Throwable> synchronous = inBlockedThread(this::run);
        CompletableFuture<Throwable> asynchronous = inBlockedThread(() -> submit().await());
        Work queued = submit();
        CompletableFuture<Throwable> future = inBlockedThread(queued.toFuture()::get);
        CompletableFuture<Throwable> awaits = inBlockedThread(queued::await);
        fail();
        assertFailed(synchronous);
        assertFailed(asynchronous);
        assertFailed(awaits);
        assertThat(outcome(future)).isInstanceOf(ExecutionException.class);
        assertThat(outcome(inThread(() -> engine.close(Duration.ZERO)))).isNull();
        assertThat(catchThrowable(this::run)).isInstanceOf(UsageException.class);
        assertThat(library.calls()).doesNotContain("close");
    }

    /** Its own work, too: nothing says whether the library still uses the memory. */
    @Test
    void aWorkThatAnotherThreadNeverEndsFails() throws Exception {
        Work stuck = submit();
        isInside.await();
        CompletableFuture<Throwable> awaits = inBlockedThread(stuck::await);
        Work behind = submit();
        fail();
        assertFailed(inThread(behind::await));
        CompletableFuture<Throwable> closes = inThread(() -> engine.close(Duration.ZERO));
        assertFailed(awaits);
        assertThat(stuck.exception()).containsInstanceOf(JcclException.class);
        assertThat(outcome(closes)).isNull();
        assertThat(library.calls()).doesNotContain("close");
    }

    /** The watchdog asks the library too. */
    @Test
    void abortingAndClosingDoNotWaitForAQuestionThatIsNotAnswered() throws Exception {
        library.whenAsked = this::stayInside;
        inThread(() -> engine.watch(System.nanoTime()));
        isInside.await();
        GroupAbortedException cause = new GroupAbortedException(FailureContext.NONE, "test");
        assertThat(outcome(inThread(() -> engine.abort(cause)))).isNull();
        assertThat(library.calls()).containsExactly("abort");
        assertThat(outcome(inThread(this::run))).isInstanceOf(GroupAbortedException.class);
        assertThat(outcome(inThread(() -> engine.watch(System.nanoTime())))).isNull();
        assertThat(outcome(inThread(() -> engine.close(Duration.ZERO)))).isNull();
        assertThat(library.calls()).containsExactly("abort");
    }

    @Test
    void closingEndsWhenAnOperationIsPastItsDeadline() throws Exception {
        inThread(this::run);
        isInside.await();
        Work queued = submit();
        CompletableFuture<Throwable> closes = inThread(() -> engine.close(Duration.ZERO));
        // As the watchdog does.
        long now = System.nanoTime();
        engine.watch(now);
        engine.watch(now + TIMEOUT.toNanos() + 1);
        engine.watch(now + TimeUnit.MINUTES.toNanos(1));
        assertThat(outcome(closes)).isNull();
        assertThat(queued.exception()).isPresent();
    }
}
