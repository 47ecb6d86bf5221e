package org.jccl.internal.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.jccl.testing.Patience.expires;

import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.FailureContext;
import org.jccl.GroupAbortedException;
import org.jccl.GroupInfo;
import org.jccl.JcclException;
import org.jccl.MismatchException;
import org.jccl.OperationTimeoutException;
import org.jccl.PeerLostException;
import org.jccl.ReduceOp;
import org.jccl.Store;
import org.jccl.UsageException;
import org.jccl.Work;
import org.jccl.internal.diagnosis.DesyncDetector;
import org.jccl.internal.memory.Memory;
import org.jccl.internal.operation.Observers;
import org.jccl.internal.operation.Operation;
import org.jccl.internal.operation.OperationObserver;
import org.jccl.internal.operation.OperationRecord;
import org.jccl.spi.CleanUp;
import org.jccl.spi.OperationKind;
import org.jccl.store.HashStore;
import org.jccl.testing.AddressSpace;
import org.jccl.testing.ChildJvm;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Order, threads, failures and the end of a host engine, over a scripted communicator. */
class HostEngineTest {

    private static final Duration TIMEOUT = expires(Duration.ofSeconds(60));
    private static final Duration PATIENCE = expires(Duration.ofMillis(50));

    private final List<HostEngine> engines = new ArrayList<>();
    private final ScriptedCommunicator library = new ScriptedCommunicator();

    private HostEngine engine(ScriptedCommunicator communicator, Optional<Store> store, int rank) {
        HostEngine engine =
                new HostEngine(
                        communicator.communicator(),
                        FailureContext.ofGroup("g", rank),
                        TIMEOUT,
                        new DesyncDetector(store, rank, 2),
                        TensorLocation.HOST);
        engines.add(engine);
        return engine;
    }

    private HostEngine engine() {
        return engine(library, Optional.empty(), 0);
    }

    @AfterEach
    void abortWhatIsLeft() {
        for (HostEngine engine : engines) {
            engine.fail(new GroupAbortedException(FailureContext.NONE, "test is over"));
        }
    }

    private static <T extends Operation> T fill(T operation, OperationKind kind, long count) {
        operation.kind = kind;
        operation.type = DataType.FLOAT32;
        operation.count = count;
        operation.op = kind == OperationKind.ALL_REDUCE ? ReduceOp.SUM : null;
        operation.peer = kind.isCollective() ? -1 : 1;
        return operation;
    }

    private static Work submit(HostEngine engine, OperationKind kind) {
        return engine.submit(fill(engine.newOperation(), kind, 4));
    }

    private static void run(HostEngine engine, OperationKind kind) {
        engine.run(fill(engine.borrow(), kind, 4));
    }

    private static CompletableFuture<Throwable> inThread(
            org.assertj.core.api.ThrowableAssert.ThrowingCallable action) {
        CompletableFuture<Throwable> outcome = new CompletableFuture<>();
        Thread thread = new Thread(() -> outcome.complete(catchThrowable(action)), "inside");
        thread.setDaemon(true);
        thread.start();
        return outcome;
    }

    private static Throwable outcome(CompletableFuture<Throwable> thread) throws Exception {
        return thread.get(20, TimeUnit.SECONDS);
    }

    /** Other calls meet the abort of the communicator before the watchdog's next tick. */
    @Test
    void aGroupFailsAtOnceWithTheReasonOfASplitThatItsBindingGaveUp() {
        HostEngine engine = engine();
        OperationTimeoutException reason =
                new OperationTimeoutException(FailureContext.NONE, "the split did not finish");
        library.noticed = reason;
        assertThatThrownBy(
                        () ->
                                engine.inside(
                                        communicator -> {
                                            throw reason;
                                        }))
                .isSameAs(reason);
        assertThat(engine.failure.get()).isSameAs(reason);
        assertThat(library.calls()).containsExactly("abort");
    }

    /** A tick of the watchdog, and one that is later by this much. */
    private static void watchAfter(HostEngine engine, Duration later) {
        engine.watch(System.nanoTime());
        engine.watch(System.nanoTime() + later.toNanos());
    }

    /** One that throws, as where the process has no memory left for a moment. */
    private static HostEngine observed(HostEngine engine, boolean whenStarted) {
        OperationObserver observer =
                new OperationObserver() {
                    @Override
                    public boolean isOn() {
                        return true;
                    }

                    @Override
                    public void started(OperationRecord operation) {
                        if (whenStarted) {
                            throw new OutOfMemoryError("test");
                        }
                    }

                    @Override
                    public void ended(OperationRecord operation) {
                        throw new OutOfMemoryError("test");
                    }
                };
        observe(engine, observer);
        return engine;
    }

    private static void observe(HostEngine engine, OperationObserver observer) {
        GroupInfo group = new GroupInfo("g", 0, 2, List.of(0, 1), "scripted", Device.CPU);
        engine.observe(Observers.of(group, List.of(observer)));
    }

    @Test
    void aWorkWhoseObserversThrowEnds() throws Exception {
        HostEngine engine = observed(engine(), true);
        submit(engine, OperationKind.ALL_REDUCE).toFuture().get(20, TimeUnit.SECONDS);
        submit(engine, OperationKind.ALL_REDUCE).toFuture().get(20, TimeUnit.SECONDS);
        engine.close(PATIENCE);
        assertThat(library.calls()).containsExactly("allReduce", "allReduce", "close");
    }

    @Test
    void aSynchronousCallWhoseObserversThrowHoldsNobodyUp() throws Exception {
        HostEngine engine = observed(engine(), false);
        assertThat(catchThrowable(() -> run(engine, OperationKind.ALL_REDUCE))).isNull();
        assertThat(outcome(inThread(() -> run(engine, OperationKind.ALL_REDUCE)))).isNull();
    }

    /** As one that writes to a disk that is full may. */
    @Test
    void aLogThatThrowsKeepsNoFailureAway() throws Exception {
        Handler full =
                new Handler() {
                    @Override
                    public void publish(LogRecord told) {
                        throw new IllegalStateException("no log");
                    }

                    @Override
                    public void flush() {}

                    @Override
                    public void close() {}
                };
        Logger log = Logger.getLogger(CleanUp.class.getName());
        log.addHandler(full);
        try {
            HostEngine engine = engine();
            library.block();
            Work runs = submit(engine, OperationKind.ALL_REDUCE);
            library.awaitCalls(1);
            library.abortFailure = new IllegalStateException("the library refuses");
            engine.fail(new GroupAbortedException(FailureContext.NONE, "stop"));
            assertThatThrownBy(() -> runs.toFuture().get(20, TimeUnit.SECONDS))
                    .hasMessageContaining("stop");
        } finally {
            log.removeHandler(full);
        }
    }

    /** Otherwise what only the abort can end stays inside the library. */
    @Test
    void anAbortForWhichNoThreadWasLeftIsRepeated() {
        HostEngine engine = engine();
        library.abortFailure = new OutOfMemoryError("unable to create native thread");
        engine.fail(new GroupAbortedException(FailureContext.NONE, "stop"));
        engine.watch(System.nanoTime());
        assertThat(library.calls()).containsExactly("abort", "abort");
        library.abortFailure = null;
        engine.watch(System.nanoTime());
        engine.watch(System.nanoTime());
        assertThat(library.calls()).containsExactly("abort", "abort", "abort");
    }

    @Test
    void aWorkForWhichNoThreadIsLeftFails() throws Exception {
        ChildJvm.outputOf(NoThreads.class, Map.of(), AddressSpace.LARGE_STACKS);
    }

    /** A process whose address space has no room for the stack of another thread. */
    static final class NoThreads {

        public static void main(String[] arguments) throws Exception {
            HostEngineTest test = new HostEngineTest();
            HostEngine engine = test.engine();
            AddressSpace.fill();
            Work work = submit(engine, OperationKind.ALL_REDUCE);
            assertThatThrownBy(() -> work.toFuture().get(20, TimeUnit.SECONDS))
                    .isInstanceOf(ExecutionException.class)
                    .cause()
                    .isInstanceOf(GroupAbortedException.class)
                    .hasMessageContaining("no thread can be started");
            engine.close(PATIENCE);
        }
    }

    @Test
    void aWorkThatNobodyAwaitsRunsOnTheWorker() throws Exception {
        Work work = submit(engine(), OperationKind.ALL_REDUCE);
        work.toFuture().get(20, TimeUnit.SECONDS);
        assertThat(library.calls()).containsExactly("allReduce");
        assertThat(library.thread(0).getName()).isEqualTo("jccl-g-0");
        assertThat(library.thread(0).isDaemon()).isTrue();
    }

    @Test
    void awaitingRunsAnUnstartedWorkOnTheCallingThread() {
        HostEngine engine = engine();
        // The thread inside an operation has the turn, so no other can run the second work.
        library.inside = () -> submit(engine, OperationKind.BROADCAST).await();
        run(engine, OperationKind.ALL_REDUCE);
        assertThat(library.calls()).containsExactly("allReduce", "broadcast");
        assertThat(library.thread(1)).isSameAs(Thread.currentThread());
    }

    @Test
    void aSynchronousCallRunsOnItsThreadAfterTheQueue() {
        HostEngine engine = engine();
        for (int i = 0; i < 50; i++) {
            submit(engine, OperationKind.ALL_REDUCE);
            submit(engine, OperationKind.BROADCAST);
        }
        run(engine, OperationKind.ALL_GATHER);
        List<String> calls = library.calls();
        assertThat(calls).hasSize(101).endsWith("allReduce", "broadcast", "allGather");
        assertThat(library.thread(100)).isSameAs(Thread.currentThread());
    }

    @Test
    void messagesStartAtOnceBesideACollective() throws Exception {
        HostEngine engine = engine();
        library.block();
        Work stuck = submit(engine, OperationKind.ALL_REDUCE);
        library.awaitCalls(1);
        Work send = submit(engine, OperationKind.SEND);
        library.complete(1);
        send.await();
        assertThat(stuck.isCompleted()).isFalse();
        assertThat(library.calls()).startsWith("allReduce", "send");
    }

    @Test
    void memoryIsHeldUntilTheLibraryIsDone() throws Exception {
        AtomicInteger freed = new AtomicInteger();
        Memory memory = Memory.owned(freed::incrementAndGet, "test");
        HostEngine engine = engine();
        library.block();
        Operation operation = fill(engine.newOperation(), OperationKind.ALL_REDUCE, 4);
        assertThat(operation.hold(memory)).isTrue();
        Work work = engine.submit(operation);
        library.awaitCalls(1);
        memory.close();
        assertThat(freed).hasValue(0);
        library.unblock();
        work.await();
        assertThat(freed).hasValue(1);
    }

    @Test
    void theWatchdogCompletesMessagesThatNobodyAwaits() {
        HostEngine engine = engine();
        Work send = submit(engine, OperationKind.SEND);
        watchAfter(engine, Duration.ZERO);
        assertThat(((HostWork) send).isDone()).isFalse();
        library.complete(1);
        watchAfter(engine, Duration.ZERO);
        assertThat(((HostWork) send).isDone()).isTrue();
    }

    @Test
    void whatTheLibraryThrowsFailsTheGroupWithItsContext() {
        HostEngine engine = engine();
        run(engine, OperationKind.BROADCAST);
        library.failure = new PeerLostException(FailureContext.NONE, "connection reset");
        assertThatThrownBy(() -> run(engine, OperationKind.ALL_REDUCE))
                .isInstanceOf(PeerLostException.class)
                .hasMessage(
                        "group 'g', rank 0, operation 1 allReduce(float32 x 4, SUM):"
                                + " connection reset");
        assertThat(library.calls()).endsWith("abort");
        assertThatThrownBy(() -> submit(engine, OperationKind.SEND))
                .isInstanceOf(GroupAbortedException.class)
                .hasMessageContaining("connection reset")
                .hasCauseInstanceOf(PeerLostException.class);
        assertThatThrownBy(engine::requireUsable).isInstanceOf(GroupAbortedException.class);
    }

    @Test
    void unexpectedThrowablesFailTheGroupToo() {
        HostEngine engine = engine();
        library.failure = new IllegalArgumentException("a bug");
        Work work = submit(engine, OperationKind.ALL_REDUCE);
        assertThatThrownBy(work::await)
                .isInstanceOf(GroupAbortedException.class)
                .hasRootCauseInstanceOf(IllegalArgumentException.class);
        assertThat(work.exception()).isPresent();
        assertThat(work.toFuture()).isCompletedExceptionally();
    }

    @Test
    void worksInTheQueueFailWithTheFirstCause() throws Exception {
        HostEngine engine = engine();
        library.block();
        Work first = submit(engine, OperationKind.ALL_REDUCE);
        library.awaitCalls(1);
        Work second = submit(engine, OperationKind.BROADCAST);
        engine.fail(new PeerLostException(FailureContext.NONE, "gone"));
        assertThatThrownBy(first::await).isInstanceOf(PeerLostException.class);
        assertThatThrownBy(second::await)
                .isInstanceOf(GroupAbortedException.class)
                .hasCauseInstanceOf(PeerLostException.class);
        assertThat(library.calls()).containsExactly("allReduce", "abort");
    }

    @Test
    void whatIsOverItsDeadlineFailsTheGroup() throws Exception {
        HostEngine engine = engine();
        library.block();
        CompletableFuture<Throwable> inside = inThread(() -> run(engine, OperationKind.ALL_REDUCE));
        library.awaitCalls(1);
        watchAfter(engine, TIMEOUT.minusSeconds(5));
        assertThat(inside).isNotDone();
        watchAfter(engine, TIMEOUT.plusSeconds(1));
        assertThat(outcome(inside))
                .isInstanceOf(OperationTimeoutException.class)
                .hasMessageContaining("operation 0 allReduce(float32 x 4, SUM)")
                .hasMessageContaining("not complete after 60 s");
    }

    @Test
    void whatTheLibraryNoticesFailsTheGroup() {
        HostEngine engine = engine();
        library.noticed = new PeerLostException(FailureContext.NONE, "link down");
        watchAfter(engine, Duration.ZERO);
        assertThatThrownBy(() -> run(engine, OperationKind.BARRIER))
                .hasMessageContaining("link down");
    }

    @Test
    void stuckRanksCompareWhatTheyDo() throws Exception {
        Store store = HashStore.create(TIMEOUT);
        ScriptedCommunicator other = new ScriptedCommunicator();
        HostEngine zero = engine(library, Optional.of(store), 0);
        HostEngine one = engine(other, Optional.of(store), 1);
        library.block();
        other.block();
        Work mine = zero.submit(fill(zero.newOperation(), OperationKind.ALL_REDUCE, 4));
        Work theirs = one.submit(fill(one.newOperation(), OperationKind.ALL_REDUCE, 8));
        library.awaitCalls(1);
        other.awaitCalls(1);
        Duration second = expires(Duration.ofSeconds(1));
        watchAfter(zero, second);
        assertThat(mine.isCompleted()).isFalse();
        watchAfter(one, second);
        assertThatThrownBy(theirs::await)
                .isInstanceOf(MismatchException.class)
                .hasMessageContaining("float32 x 4")
                .hasMessageContaining("float32 x 8");
        watchAfter(zero, second);
        assertThatThrownBy(mine::await)
                .isInstanceOf(MismatchException.class)
                .hasMessageContaining("rank 1 has allReduce(float32 x 8");
    }

    @Test
    void aReceiveWithAnotherTagThanTheSendIsToldSo() throws Exception {
        Store store = HashStore.create(TIMEOUT);
        ScriptedCommunicator other = new ScriptedCommunicator();
        HostEngine zero = engine(library, Optional.of(store), 0);
        HostEngine one = engine(other, Optional.of(store), 1);
        HostWork receives = fill((HostWork) zero.newOperation(), OperationKind.RECV, 4);
        receives.tag = 5;
        HostWork sends = fill((HostWork) one.newOperation(), OperationKind.SEND, 4);
        sends.peer = 0;
        sends.tag = 7;
        Work mine = zero.submit(receives);
        one.submit(sends);
        watchAfter(one, expires(Duration.ofSeconds(1)));
        long end = System.nanoTime() + TIMEOUT.toNanos();
        while (store.listKeys().stream().noneMatch(key -> key.contains("position/1"))
                && System.nanoTime() - end < 0) {
            watchAfter(one, expires(Duration.ofSeconds(1)));
        }
        watchAfter(zero, TIMEOUT.plusSeconds(1));
        assertThatThrownBy(mine::await)
                .isInstanceOf(OperationTimeoutException.class)
                .hasMessageContaining("tag 5")
                .hasMessageContaining("tag 7")
                .hasMessageContaining("whose tag differs from this rank's");
    }

    @Test
    void slowButEqualRanksGoOnAndLeaveNothingBehind() throws Exception {
        Store store = HashStore.create(TIMEOUT);
        ScriptedCommunicator other = new ScriptedCommunicator();
        HostEngine zero = engine(library, Optional.of(store), 0);
        HostEngine one = engine(other, Optional.of(store), 1);
        library.block();
        other.block();
        Work mine = submit(zero, OperationKind.ALL_REDUCE);
        Work theirs = submit(one, OperationKind.ALL_REDUCE);
        library.awaitCalls(1);
        other.awaitCalls(1);
        watchAfter(zero, expires(Duration.ofSeconds(1)));
        watchAfter(one, expires(Duration.ofSeconds(1)));
        library.unblock();
        other.unblock();
        mine.await();
        theirs.await();
        // Who awaits an operation may go on before the engine has forgotten it.
        long end = System.nanoTime() + TIMEOUT.toNanos();
        do {
            watchAfter(zero, expires(Duration.ofSeconds(1)));
            watchAfter(one, expires(Duration.ofSeconds(1)));
        } while (store.listKeys().stream().anyMatch(key -> key.contains("operation/"))
                && System.nanoTime() - end < 0);
        assertThat(store.listKeys()).noneMatch(key -> key.contains("operation/"));
        run(zero, OperationKind.BARRIER);
    }

    @Test
    void abortDoesNotWaitForTheStore() throws Exception {
        CountDownLatch asked = new CountDownLatch(1);
        CountDownLatch never = new CountDownLatch(1);
        Store deaf =
                (Store)
                        Proxy.newProxyInstance(
                                Store.class.getClassLoader(),
                                new Class<?>[] {Store.class},
                                (proxy, method, arguments) -> {
                                    asked.countDown();
                                    never.await();
                                    return null;
                                });
        HostEngine engine = engine(library, Optional.of(deaf), 0);
        library.block();
        CompletableFuture<Throwable> inside = inThread(() -> run(engine, OperationKind.ALL_REDUCE));
        library.awaitCalls(1);
        inThread(() -> watchAfter(engine, expires(Duration.ofSeconds(1))));
        asked.await();
        CompletableFuture<Throwable> aborting =
                inThread(() -> engine.fail(new PeerLostException(FailureContext.NONE, "enough")));
        assertThat(outcome(aborting)).isNull();
        assertThat(outcome(inside)).isInstanceOf(PeerLostException.class);
        never.countDown();
    }

    @Test
    void closingRunsTheQueueAndFreesTheCommunicatorOnce() {
        HostEngine engine = engine();
        Work work = submit(engine, OperationKind.ALL_REDUCE);
        engine.close(PATIENCE);
        engine.close(PATIENCE);
        assertThat(work.isCompleted()).isTrue();
        assertThat(library.calls()).containsExactly("allReduce", "close");
        assertThatThrownBy(() -> submit(engine, OperationKind.ALL_REDUCE))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("closed");
        engine.fail(new PeerLostException(FailureContext.NONE, "late"));
        watchAfter(engine, Duration.ZERO);
        assertThat(library.calls()).containsExactly("allReduce", "close");
    }

    @Test
    void closingWaitsForCollectivesLongerThanForMessages() throws Exception {
        HostEngine engine = engine();
        library.block();
        Work sum = submit(engine, OperationKind.ALL_REDUCE);
        Thread closer = new Thread(() -> engine.close(Duration.ZERO));
        closer.start();
        // Many times longer than it asks again whether the work is complete.
        closer.join(200);
        assertThat(closer.isAlive()).isTrue();
        library.unblock();
        closer.join();
        assertThat(sum.exception()).isEmpty();
        assertThat(library.calls()).containsExactly("allReduce", "close");
    }

    @Test
    void closingAbortsMessagesWithoutPartner() {
        HostEngine engine = engine();
        Work receive = submit(engine, OperationKind.RECV);
        engine.close(PATIENCE);
        assertThat(library.calls()).containsExactly("recv", "abort", "await", "close");
        assertThatThrownBy(receive::await).isInstanceOf(GroupAbortedException.class);
    }

    @Test
    void anInterruptedCloserStillCloses() throws Exception {
        HostEngine engine = engine();
        submit(engine, OperationKind.RECV);
        AtomicReference<Boolean> flag = new AtomicReference<>();
        Throwable thrown =
                outcome(
                        inThread(
                                () -> {
                                    Thread.currentThread().interrupt();
                                    engine.close(PATIENCE);
                                    flag.set(Thread.interrupted());
                                }));
        assertThat(thrown).isNull();
        assertThat(flag).hasValue(true);
        assertThat(library.calls()).endsWith("close");
    }

    @Test
    void aRefusedBatchLetsGoOfAllItsMemory() {
        HostEngine engine = engine();
        engine.fail(new PeerLostException(FailureContext.NONE, "gone"));
        AtomicInteger freed = new AtomicInteger();
        List<Operation> operations = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            Memory memory = Memory.owned(freed::incrementAndGet, "test");
            Operation operation = fill(engine.newOperation(), OperationKind.SEND, 1);
            operation.hold(memory);
            memory.close();
            operations.add(operation);
        }
        assertThatThrownBy(() -> engine.submitBatch(operations)).isInstanceOf(JcclException.class);
        assertThat(freed).hasValue(3);
        assertThat(library.calls()).containsExactly("abort");
    }

    @Test
    void memoryOfAnOperationThatTheLibraryKeepsIsNeverFreed() throws Exception {
        for (boolean abandons : List.of(false, true)) {
            ScriptedCommunicator communicator = new ScriptedCommunicator();
            communicator.block();
            communicator.abandonsOperations = abandons;
            HostEngine engine = engine(communicator, Optional.empty(), 0);
            AtomicInteger freed = new AtomicInteger();
            List<Work> works = new ArrayList<>();
            for (OperationKind kind : List.of(OperationKind.ALL_REDUCE, OperationKind.RECV)) {
                Memory memory = Memory.owned(freed::incrementAndGet, "memory of a test");
                Operation operation = fill(engine.newOperation(), kind, 4);
                operation.hold(memory);
                memory.close();
                works.add(engine.submit(operation));
            }
            communicator.awaitCalls(2);
            engine.fail(new GroupAbortedException(FailureContext.NONE, "aborted"));
            for (Work work : works) {
                assertThatThrownBy(work::await).isInstanceOf(GroupAbortedException.class);
            }
            assertThat(freed).hasValue(abandons ? 0 : 2);
        }
    }

    /** The waiter of a work may run on before the work has left the engine's list. */
    @Test
    void memoryOfAWorkThatIsCompleteIsFree() throws Exception {
        HostEngine engine = engine();
        AtomicReference<FailureContext> during = new AtomicReference<>();
        AtomicReference<FailureContext> after = new AtomicReference<>();
        AtomicReference<Work> work = new AtomicReference<>();
        AtomicReference<Boolean> completed = new AtomicReference<>();
        observe(
                engine,
                new OperationObserver() {
                    @Override
                    public boolean isOn() {
                        return true;
                    }

                    @Override
                    public void started(OperationRecord operation) {}

                    @Override
                    public void ended(OperationRecord operation) {
                        completed.set(work.get().isCompleted());
                        after.set(engine.collision(4000, 4016, true, 2));
                    }
                });
        library.block();
        HostWork issued = (HostWork) engine.newOperation();
        fill(issued, OperationKind.ALL_REDUCE, 4);
        issued.input = 4000;
        issued.output = 4000;
        work.set(issued);
        engine.submit(issued);
        library.awaitCalls(1);
        during.set(engine.collision(4000, 4016, true, 2));
        library.unblock();
        issued.await();
        engine.close(PATIENCE);
        assertThat(during.get()).isNotNull();
        assertThat(completed.get()).isTrue();
        assertThat(after.get()).isNull();
    }
}
