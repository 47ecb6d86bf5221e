package org.jccl.internal.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.jccl.testing.Patience.enough;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jccl.DataType;
import org.jccl.FailureContext;
import org.jccl.GroupAbortedException;
import org.jccl.JcclException;
import org.jccl.NativeException;
import org.jccl.PeerLostException;
import org.jccl.ReduceOp;
import org.jccl.UsageException;
import org.jccl.Work;
import org.jccl.internal.diagnosis.DesyncDetector;
import org.jccl.internal.engine.Watchdog;
import org.jccl.internal.operation.Operation;
import org.jccl.spi.OperationKind;
import org.jccl.spi.RefusedOperationException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a communicator must never see, whoever calls when; and what must not end a group. */
@Timeout(120)
class EngineClosingTest {

    private static final Duration TIMEOUT = enough(Duration.ofSeconds(60));
    private static final int ROUNDS = 500;

    private final ScriptedCommunicator library = new ScriptedCommunicator();

    private static HostEngine engine(ScriptedCommunicator communicator) {
        return new HostEngine(
                communicator.communicator(),
                FailureContext.ofGroup("g", 0),
                TIMEOUT,
                new DesyncDetector(Optional.empty(), 0, 2),
                TensorLocation.HOST);
    }

    private static Operation fill(Operation operation, OperationKind kind) {
        operation.kind = kind;
        operation.type = DataType.FLOAT32;
        operation.count = 4;
        operation.op = kind == OperationKind.ALL_REDUCE ? ReduceOp.SUM : null;
        operation.peer = kind.isCollective() ? -1 : 1;
        return operation;
    }

    private static Work submit(HostEngine engine, OperationKind kind) {
        return engine.submit(fill(engine.newOperation(), kind));
    }

    private static CompletableFuture<Throwable> inThread(Runnable action) {
        CompletableFuture<Throwable> outcome = new CompletableFuture<>();
        Thread thread = new Thread(() -> outcome.complete(catchThrowable(action::run)));
        thread.setDaemon(true);
        thread.start();
        return outcome;
    }

    private static Throwable outcome(CompletableFuture<Throwable> thread) throws Exception {
        return thread.get(60, TimeUnit.SECONDS);
    }

    /** One of the ways into the library. */
    private interface Way {
        void go(HostEngine engine);
    }

    /** Whatever is under way when a group is closed, nothing reaches a communicator afterwards. */
    private static void neverAfterTheEnd(Way way) throws Exception {
        for (int i = 0; i < ROUNDS; i++) {
            ScriptedCommunicator communicator = new ScriptedCommunicator();
            communicator.completesAtOnce = true;
            HostEngine engine = engine(communicator);
            CountDownLatch ready = new CountDownLatch(1);
            CompletableFuture<Throwable> caller =
                    inThread(
                            () -> {
                                way.go(engine);
                                ready.countDown();
                                while (engine.isUsable()) {
                                    way.go(engine);
                                }
                            });
            if (!ready.await(20, TimeUnit.SECONDS)) {
                throw new AssertionError("the caller does not come: " + caller);
            }
            engine.close(Duration.ZERO);
            Throwable end = outcome(caller);
            if (end != null) {
                assertThat(end).isInstanceOf(JcclException.class);
            }
            assertThat(communicator.calls()).as("round %d", i).endsWith("close");
        }
    }

    @Test
    void aMessageNeverReachesAFreedCommunicator() throws Exception {
        neverAfterTheEnd(engine -> submit(engine, OperationKind.SEND));
    }

    @Test
    void aCollectiveNeverReachesAFreedCommunicator() throws Exception {
        neverAfterTheEnd(engine -> submit(engine, OperationKind.ALL_REDUCE));
        neverAfterTheEnd(engine -> engine.run(fill(engine.borrow(), OperationKind.ALL_REDUCE)));
    }

    @Test
    void aBatchNeverReachesAFreedCommunicator() throws Exception {
        neverAfterTheEnd(
                engine ->
                        engine.submitBatch(
                                List.of(fill(engine.newOperation(), OperationKind.SEND))));
    }

    @Test
    void anAbortNeverReachesAFreedCommunicator() throws Exception {
        JcclException enough = new PeerLostException(FailureContext.NONE, "enough");
        neverAfterTheEnd(
                engine -> {
                    submit(engine, OperationKind.RECV).isCompleted();
                    engine.watch(System.nanoTime());
                    engine.fail(enough);
                });
    }

    @Test
    void closingWaitsForWhoIsInside() throws Exception {
        HostEngine engine = engine(library);
        CountDownLatch inside = new CountDownLatch(1);
        CountDownLatch leave = new CountDownLatch(1);
        CompletableFuture<Throwable> visitor = inThread(() -> stay(engine, inside, leave));
        inside.await();
        Thread closer = new Thread(() -> engine.close(TIMEOUT));
        closer.start();
        closer.join(200);
        assertThat(closer.isAlive()).isTrue();
        assertThat(library.calls()).isEmpty();
        leave.countDown();
        closer.join();
        assertThat(outcome(visitor)).isNull();
        assertThat(library.calls()).containsExactly("close");
        assertThatThrownBy(() -> engine.inside(communicator -> null))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("closed");
    }

    private static void stay(HostEngine engine, CountDownLatch inside, CountDownLatch leave) {
        engine.inside(
                communicator -> {
                    inside.countDown();
                    try {
                        return leave.await(60, TimeUnit.SECONDS);
                    } catch (InterruptedException e) {
                        throw new IllegalStateException(e);
                    }
                });
    }

    @Test
    void whatAllRanksRefuseDoesNotEndTheGroup() {
        HostEngine engine = engine(library);
        library.failure = new RefusedOperationException("no such type");
        assertThatThrownBy(() -> engine.run(fill(engine.borrow(), OperationKind.ALL_REDUCE)))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("operation 0 allReduce(float32 x 4, SUM): no such type");
        library.failure = new RefusedOperationException("no such type");
        Work work = submit(engine, OperationKind.ALL_REDUCE);
        assertThatThrownBy(work::await).isInstanceOf(UsageException.class);
        assertThat(submit(engine, OperationKind.ALL_REDUCE).sequence()).isEqualTo(2);
        engine.close(TIMEOUT);
        assertThat(library.calls()).doesNotContain("abort");
    }

    @Test
    void whatTheLibraryLacksIsRefusedBeforeItIsNumbered() {
        library.lacking = "not here, use others";
        HostEngine engine = engine(library);
        assertThatThrownBy(() -> submit(engine, OperationKind.SEND))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("send(float32 x 4 to 1, tag 0): not here, use others");
        Operation gather = fill(engine.borrow(), OperationKind.ALL_GATHER_V);
        assertThatThrownBy(() -> engine.run(gather)).hasMessageContaining("not here");
        List<Operation> batch = new ArrayList<>();
        batch.add(fill(engine.newOperation(), OperationKind.ALL_REDUCE));
        batch.add(fill(engine.newOperation(), OperationKind.RECV));
        assertThatThrownBy(() -> engine.submitBatch(batch)).hasMessageContaining("not here");
        assertThat(library.calls()).isEmpty();
        assertThat(submit(engine, OperationKind.ALL_REDUCE).sequence()).isZero();
        engine.close(TIMEOUT);
        assertThat(library.calls()).containsExactly("allReduce", "close");
    }

    /** The category of what users get says whether the group goes on. */
    @Test
    void aHarmlessExceptionFromALibraryThatIsOutOfStepIsNone() {
        HostEngine engine = engine(library);
        library.failure = new UsageException(FailureContext.NONE, "bad argument");
        assertThatThrownBy(() -> engine.run(fill(engine.borrow(), OperationKind.ALL_REDUCE)))
                .isInstanceOf(GroupAbortedException.class)
                .hasMessageContaining("the library rejected the operation: bad argument");
        assertThatThrownBy(engine::requireUsable).isInstanceOf(GroupAbortedException.class);
    }

    @Test
    void anAbortThatFailsStillEndsTheWorks() {
        library.block();
        HostEngine engine = engine(library);
        Work work = submit(engine, OperationKind.ALL_REDUCE);
        library.abortFailure = new NativeException(FailureContext.NONE, "library", 1, "no abort");
        engine.fail(new PeerLostException(FailureContext.NONE, "gone"));
        assertThatThrownBy(work::await).hasMessageContaining("gone");
    }

    /** The worker completes what waits in the queue; only a request must be asked. */
    @Test
    void aQueuedWorkWithAFutureIsNotPolled() throws Exception {
        HostEngine engine = engine(library);
        library.block();
        submit(engine, OperationKind.ALL_REDUCE);
        Work second = submit(engine, OperationKind.BROADCAST);
        CompletableFuture<Void> future = second.toFuture();
        assertThat(threads("jccl-futures-g-0")).isZero();
        library.unblock();
        future.get(20, TimeUnit.SECONDS);
        engine.close(TIMEOUT);
    }

    @Test
    void aStartedWorkWithAFutureIs() throws Exception {
        HostEngine engine = engine(library);
        CompletableFuture<Void> future = submit(engine, OperationKind.SEND).toFuture();
        library.complete(1);
        future.get(20, TimeUnit.SECONDS);
        engine.close(TIMEOUT);
    }

    private static long threads(String name) {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().equals(name))
                .count();
    }

    @Test
    void anErrorDoesNotEndTheWatchdog() throws Exception {
        ScriptedCommunicator broken = new ScriptedCommunicator();
        broken.brokenQuestion = new NoClassDefFoundError("test");
        library.noticed = new PeerLostException(FailureContext.NONE, "link down");
        AtomicBoolean asked = new AtomicBoolean();
        HostEngine healthy = engine(library);
        library.block();
        Work work = submit(healthy, OperationKind.ALL_REDUCE);
        try (Watchdog watchdog = new Watchdog("test")) {
            watchdog.add(engine(broken));
            watchdog.add(healthy);
            CompletableFuture<Throwable> waiter =
                    inThread(
                            () -> {
                                asked.set(true);
                                work.await();
                            });
            assertThat(outcome(waiter)).hasMessageContaining("link down");
        }
        assertThat(asked).isTrue();
    }
}
