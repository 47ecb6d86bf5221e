package org.jccl.internal.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.jccl.testing.Patience.enough;
import static org.jccl.testing.Patience.expires;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.jccl.DataType;
import org.jccl.FailureContext;
import org.jccl.MismatchException;
import org.jccl.ReduceOp;
import org.jccl.Store;
import org.jccl.internal.diagnosis.CallCheck;
import org.jccl.internal.diagnosis.DesyncDetector;
import org.jccl.internal.operation.Operation;
import org.jccl.spi.OperationKind;
import org.jccl.store.HashStore;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Where calls are compared, their order in the library is the one in which they were compared. */
@Timeout(60)
class CheckedOrderTest {

    private static final Duration TIMEOUT = enough(Duration.ofSeconds(60));

    private final ScriptedCommunicator library = new ScriptedCommunicator();
    private final Store store = HashStore.create(TIMEOUT);
    private final HostEngine engine =
            new HostEngine(
                    library.communicator(),
                    FailureContext.ofGroup("checked", 0),
                    TIMEOUT,
                    new DesyncDetector(Optional.empty(), 0, 2),
                    TensorLocation.HOST);

    @BeforeEach
    void check() {
        engine.checkCalls(new CallCheck(store, 0, 2, TIMEOUT));
    }

    @AfterEach
    void close() {
        library.unblock();
        engine.close(expires(Duration.ofMillis(50)));
    }

    private static <T extends Operation> T sum(T operation) {
        return filled(operation, OperationKind.ALL_REDUCE);
    }

    private static <T extends Operation> T gather(T operation) {
        return filled(operation, OperationKind.ALL_GATHER);
    }

    private static <T extends Operation> T filled(T operation, OperationKind kind) {
        operation.kind = kind;
        operation.type = DataType.FLOAT32;
        operation.count = 4;
        operation.op = kind == OperationKind.ALL_REDUCE ? ReduceOp.SUM : null;
        return operation;
    }

    /** The other rank has come to these calls. */
    private void otherRankCalls(Operation... calls) {
        for (int i = 0; i < calls.length; i++) {
            store.set("call/" + i + "/1", calls[i].describe().getBytes(StandardCharsets.UTF_8));
        }
    }

    private Thread inThread(String name, CompletableFuture<Throwable> outcome, Operation call) {
        Thread thread =
                new Thread(() -> outcome.complete(catchThrowable(() -> engine.run(call))), name);
        thread.start();
        return thread;
    }

    /** A synchronous call that was compared and waits for its turn in the library. */
    private void passedBy(Function<Operation, Throwable> later) throws Exception {
        otherRankCalls(sum(new Operation()), sum(new Operation()), gather(new Operation()));
        library.block();
        CompletableFuture<Throwable> inside = new CompletableFuture<>();
        inThread("inside", inside, sum(engine.borrow()));
        library.awaitCalls(1);
        Thread waiting = inThread("waiting", new CompletableFuture<>(), sum(engine.borrow()));
        // It has been compared then: what the other rank calls is in the store already.
        while (waiting.getState() != Thread.State.TIMED_WAITING) {
            Thread.onSpinWait();
        }
        assertThat(later.apply(gather(engine.newOperation())))
                .isInstanceOf(MismatchException.class)
                .hasMessageContaining("thread '" + Thread.currentThread().getName() + "' issues")
                .hasMessageContaining("while thread 'waiting' issues a collective");
        assertThat(inside.get()).isNotNull();
        assertThat(library.calls()).doesNotContain("allGather");
    }

    @Test
    void noAsynchronousCallPassesByOneThatWasCompared() throws Exception {
        passedBy(call -> catchThrowable(() -> engine.submit(call)));
    }

    @Test
    void noBatchPassesByACallThatWasCompared() throws Exception {
        passedBy(call -> catchThrowable(() -> engine.submitBatch(List.of(call))));
    }

    @Test
    void threadsThatTakeTurnsAreNotRejected() throws Exception {
        otherRankCalls(sum(new Operation()), gather(new Operation()), sum(new Operation()));
        for (Operation call :
                List.of(sum(engine.borrow()), gather(engine.borrow()), sum(engine.borrow()))) {
            CompletableFuture<Throwable> outcome = new CompletableFuture<>();
            inThread("turn", outcome, call).join();
            assertThat(outcome.get()).isNull();
        }
        assertThat(library.calls()).containsExactly("allReduce", "allGather", "allReduce");
    }
}
