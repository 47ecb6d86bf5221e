package org.jccl.internal.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.jccl.testing.Patience.enough;
import static org.jccl.testing.Patience.expires;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.jccl.DataType;
import org.jccl.FailureContext;
import org.jccl.GroupAbortedException;
import org.jccl.ReduceOp;
import org.jccl.Work;
import org.jccl.internal.diagnosis.DesyncDetector;
import org.jccl.internal.operation.Operation;
import org.jccl.spi.OperationKind;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * A library whose collectives not even an abort ends: threads that wait for works have deadlines.
 */
class EndlessCollectivesTest {

    private static final String WORKER = "jccl-g-0";

    private final ScriptedCommunicator library = ScriptedCommunicator.endless();
    private final CountDownLatch isInside = new CountDownLatch(1);
    private final CountDownLatch released = new CountDownLatch(1);

    private final HostEngine engine =
            new HostEngine(
                    library.communicator(),
                    FailureContext.ofGroup("g", 0),
                    expires(Duration.ofMillis(500)),
                    new DesyncDetector(Optional.empty(), 0, 2),
                    TensorLocation.HOST);

    @AfterEach
    void release() {
        released.countDown();
    }

    private void stayInside() {
        isInside.countDown();
        boolean waits = true;
        while (waits) {
            // Which lets other calls in, and does not notice an abort.
            try {
                synchronized (library) {
                    library.wait(1);
                }
                waits = released.getCount() > 0;
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }
    }

    private Operation sum(Operation operation) {
        operation.kind = OperationKind.ALL_REDUCE;
        operation.type = DataType.FLOAT32;
        operation.count = 4;
        operation.op = ReduceOp.SUM;
        return operation;
    }

    private Work submit() {
        return engine.submit(sum(engine.newOperation()));
    }

    private void run() {
        engine.run(sum(engine.borrow()));
    }

    private static CompletableFuture<Throwable> inThread(ThrowingCallable action) {
        CompletableFuture<Throwable> outcome = new CompletableFuture<>();
        Thread thread = new Thread(() -> outcome.complete(catchThrowable(action)), "other");
        thread.setDaemon(true);
        thread.start();
        return outcome;
    }

    private static Throwable outcome(CompletableFuture<Throwable> call) throws Exception {
        return call.get(enough(Duration.ofSeconds(60)).toMillis(), TimeUnit.MILLISECONDS);
    }

    @Test
    void aWorkIsTheWorkersAndASynchronousCallTheCallers() {
        library.block();
        Work first = submit();
        Work second = submit();
        CompletableFuture<Throwable> awaits = inThread(second::await);
        CompletableFuture<Throwable> synchronous = inThread(this::run);
        library.unblock();
        first.await();
        assertThat(awaits.join()).isNull();
        assertThat(synchronous.join()).isNull();
        assertThat(library.calls()).containsOnly("allReduce").hasSize(3);
        assertThat(library.thread(0).getName()).isEqualTo(WORKER);
        assertThat(library.thread(1).getName()).isEqualTo(WORKER);
        assertThat(library.thread(2).getName()).isEqualTo("other");
        engine.close(Duration.ZERO);
        assertThat(library.calls()).contains("close");
    }

    @Test
    void aFailureEndsTheWaitForAWorkThatIsStuck() throws Exception {
        library.inside = this::stayInside;
        Work stuck = submit();
        isInside.await();
        Work behind = submit();
        CompletableFuture<Throwable> awaits = inThread(stuck::await);
        CompletableFuture<Throwable> later = inThread(this::run);
        engine.fail(new GroupAbortedException(FailureContext.NONE, "the first cause"));
        for (CompletableFuture<Throwable> call : List.of(awaits, later, inThread(behind::await))) {
            assertThat(outcome(call))
                    .isInstanceOf(GroupAbortedException.class)
                    .hasMessageContaining("the first cause");
        }
        assertThat(outcome(inThread(() -> engine.close(Duration.ZERO)))).isNull();
        assertThat(library.calls()).doesNotContain("close", "endJob");
    }

    @Test
    void closingLeavesTheQueueToTheWorker() throws Exception {
        library.inside = this::stayInside;
        Work first = submit();
        isInside.await();
        Work second = submit();
        CompletableFuture<Throwable> closes = inThread(() -> engine.close(Duration.ZERO));
        release();
        assertThat(outcome(closes)).isNull();
        assertThat(first.isCompleted() && second.isCompleted()).isTrue();
        assertThat(library.thread(1).getName()).isEqualTo(WORKER);
    }
}
