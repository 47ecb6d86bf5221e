package org.jccl.internal.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.jccl.testing.Patience.enough;
import static org.jccl.testing.Patience.expires;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jccl.DataType;
import org.jccl.FailureContext;
import org.jccl.GroupAbortedException;
import org.jccl.OperationTimeoutException;
import org.jccl.PeerLostException;
import org.jccl.ReduceOp;
import org.jccl.Store;
import org.jccl.Work;
import org.jccl.internal.diagnosis.Departures;
import org.jccl.internal.diagnosis.DesyncDetector;
import org.jccl.internal.diagnosis.Diagnosis;
import org.jccl.internal.engine.Watchdog;
import org.jccl.internal.operation.Operation;
import org.jccl.spi.OperationKind;
import org.jccl.store.HashStore;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** A store whose process was stopped: nothing may wait for it that only explains. */
@Timeout(120)
@Execution(ExecutionMode.CONCURRENT)
@Tag("all")
class FrozenStoreTest {

    private static final Duration TIMEOUT = expires(Duration.ofSeconds(2));

    /** Much longer than anything here may take, and shorter than the store does not answer. */
    private static final long DEADLINE_SECONDS = 40;

    private final ScriptedCommunicator library = new ScriptedCommunicator();
    private final CountDownLatch thawed = new CountDownLatch(1);
    private final CountDownLatch asked = new CountDownLatch(1);
    private volatile boolean frozen;
    private final Diagnosis diagnosis =
            new Diagnosis(
                    "frozen",
                    Optional.of(store(HashStore.create(enough(Duration.ofMinutes(10))))),
                    List::of);
    private final HostEngine engine =
            new HostEngine(
                    library.communicator(),
                    FailureContext.ofGroup("g", 0),
                    TIMEOUT,
                    new DesyncDetector(
                            Optional.of(diagnosis::client),
                            diagnosis,
                            0,
                            2,
                            false,
                            Departures.none(0, 2)),
                    TensorLocation.HOST);
    private final Watchdog watchdog = new Watchdog("frozen");

    /** Answers nothing while it is frozen, neither here nor where it was duplicated. */
    private Store store(Store real) {
        return (Store)
                Proxy.newProxyInstance(
                        Store.class.getClassLoader(),
                        new Class<?>[] {Store.class},
                        (proxy, method, arguments) -> {
                            if (method.getName().equals("close")) {
                                return null;
                            }
                            if (frozen) {
                                asked.countDown();
                                awaitThaw();
                            }
                            if (method.getName().equals("duplicate")) {
                                return store(real);
                            }
                            try {
                                return method.invoke(real, arguments);
                            } catch (InvocationTargetException e) {
                                throw e.getCause();
                            }
                        });
    }

    private void awaitThaw() {
        while (true) {
            try {
                thawed.await();
                return;
            } catch (InterruptedException e) {
                // As a store, which no interrupt ends.
                continue;
            }
        }
    }

    @AfterEach
    void thaw() {
        thawed.countDown();
        engine.fail(new GroupAbortedException(FailureContext.NONE, "test is over"));
        watchdog.close();
        diagnosis.close();
    }

    private Work submit(OperationKind kind) {
        Operation operation = engine.newOperation();
        operation.kind = kind;
        operation.type = DataType.FLOAT32;
        operation.count = 4;
        operation.op = ReduceOp.SUM;
        operation.peer = kind.isCollective() ? -1 : 1;
        return engine.submit(operation);
    }

    private static Throwable inTime(Runnable action) throws Exception {
        CompletableFuture<Throwable> outcome = new CompletableFuture<>();
        Thread thread = new Thread(() -> outcome.complete(catchThrowable(action::run)));
        thread.setDaemon(true);
        thread.start();
        return outcome.get(DEADLINE_SECONDS, TimeUnit.SECONDS);
    }

    @Test
    void aRanksOwnDeadlineHolds() throws Exception {
        frozen = true;
        library.block();
        watchdog.add(engine);
        Work work = submit(OperationKind.ALL_REDUCE);
        assertThat(inTime(work::await))
                .isInstanceOf(OperationTimeoutException.class)
                .hasMessageContaining("not complete after 2 s")
                .hasMessageContaining("the store does not answer");
    }

    /** One group's question that is not answered must not keep others' deadlines away. */
    @Test
    void deadlinesOfOtherGroupsHoldToo() throws Exception {
        ScriptedCommunicator other = new ScriptedCommunicator();
        HostEngine second =
                new HostEngine(
                        other.communicator(),
                        FailureContext.ofGroup("h", 0),
                        TIMEOUT,
                        new DesyncDetector(
                                Optional.of(diagnosis::client),
                                diagnosis,
                                0,
                                2,
                                false,
                                Departures.none(0, 2)),
                        TensorLocation.HOST);
        frozen = true;
        library.block();
        other.block();
        watchdog.add(engine);
        watchdog.add(second);
        submit(OperationKind.ALL_REDUCE);
        asked.await();
        Operation operation = second.newOperation();
        operation.kind = OperationKind.BARRIER;
        Work work = second.submit(operation);
        assertThat(inTime(work::await)).isInstanceOf(OperationTimeoutException.class);
    }

    @Test
    void anAbortEndsTheWorksAndReturns() throws Exception {
        frozen = true;
        library.block();
        Work work = submit(OperationKind.ALL_REDUCE);
        GroupAbortedException enough = new GroupAbortedException(FailureContext.NONE, "enough");
        assertThat(inTime(() -> engine.abort(enough))).isNull();
        assertThat(inTime(work::await)).hasMessageContaining("enough");
    }

    @Test
    void closingReturns() throws Exception {
        frozen = true;
        engine.fail(new PeerLostException(FailureContext.NONE, "gone"));
        assertThat(inTime(() -> engine.close(Duration.ZERO))).isNull();
        assertThat(library.calls()).endsWith("close");
        assertThat(inTime(diagnosis::close)).isNull();
    }

    @Test
    void closingReturnsWhileAQuestionIsUnderWay() throws Exception {
        frozen = true;
        library.block();
        Work work = submit(OperationKind.ALL_REDUCE);
        watchdog.add(engine);
        asked.await();
        engine.fail(new PeerLostException(FailureContext.NONE, "gone"));
        assertThat(inTime(work::await)).hasMessageContaining("gone");
        assertThat(inTime(() -> engine.close(Duration.ZERO))).isNull();
        assertThat(inTime(diagnosis::close)).isNull();
    }

    /** Another rank's abort shows as a connection that is lost. */
    @Test
    void aLostPeerIsToldWithoutTheStore() throws Exception {
        frozen = true;
        library.failure = new PeerLostException(FailureContext.NONE, "rank 1 is gone");
        Work work = submit(OperationKind.ALL_REDUCE);
        assertThat(inTime(work::await)).hasMessageContaining("rank 1 is gone");
    }

    @Test
    void isCompletedDoesNotAskTheStore() throws Exception {
        library.awaitFailure = new PeerLostException(FailureContext.NONE, "rank 1 is gone");
        Work first = submit(OperationKind.SEND);
        Work second = submit(OperationKind.SEND);
        frozen = true;
        library.complete(1);
        library.complete(2);
        // The answer is still sought, elsewhere.
        assertThat(first.isCompleted()).isFalse();
        assertThat(second.isCompleted()).isFalse();
        assertThat(inTime(first::await)).hasMessageContaining("rank 1 is gone");
        assertThat(inTime(second::await)).hasMessageContaining("rank 1 is gone");
    }
}
