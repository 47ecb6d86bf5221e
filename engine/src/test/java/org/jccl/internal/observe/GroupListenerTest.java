package org.jccl.internal.observe;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.stream.Stream;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.FailureContext;
import org.jccl.GroupAbortedException;
import org.jccl.GroupInfo;
import org.jccl.GroupListener;
import org.jccl.JcclException;
import org.jccl.OperationInfo;
import org.jccl.OperationTime;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.UsageException;
import org.jccl.Work;
import org.jccl.internal.api.DefaultProcessGroup;
import org.jccl.internal.backend.Backend;
import org.jccl.internal.group.WorldBuilder;
import org.jccl.internal.host.ScriptedCommunicator;
import org.jccl.internal.host.ScriptedProvider;
import org.jccl.spi.BackendProvider;
import org.jccl.spi.RefusedOperationException;
import org.jccl.store.HashStore;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What listeners are told, on which thread, and that nothing they do harms the group. */
@Timeout(60)
class GroupListenerTest {

    private static final Duration TIMEOUT = Duration.ofSeconds(30);

    private final List<ScriptedCommunicator> libraries = new ArrayList<>();

    /** Remembers everything as text, and lets tests wait for it. */
    private static class Notes implements GroupListener {

        private final List<String> told = new ArrayList<>();
        private final List<OperationInfo> operations = new ArrayList<>();
        private final List<OperationTime> times = new ArrayList<>();
        private final List<JcclException> causes = new ArrayList<>();
        private GroupInfo group;
        private Thread thread;

        private synchronized void note(String text) {
            told.add(text);
            thread = Thread.currentThread();
            notifyAll();
        }

        synchronized List<String> told() {
            return List.copyOf(told);
        }

        synchronized void await(String text) throws InterruptedException {
            while (!told.contains(text)) {
                wait();
            }
        }

        @Override
        public void groupMade(GroupInfo made, Duration took) {
            assertThat(took).isPositive();
            group = made;
            note("made " + made.name());
        }

        @Override
        public void operationStarted(OperationInfo operation) {
            operations.add(operation);
            note("started " + operation.name() + " " + operation.sequence());
        }

        @Override
        public void operationCompleted(OperationInfo operation, OperationTime time) {
            operations.add(operation);
            times.add(time);
            note("completed " + operation.name() + " " + operation.sequence());
        }

        @Override
        public void operationFailed(
                OperationInfo operation, OperationTime time, JcclException cause) {
            operations.add(operation);
            causes.add(cause);
            note("failed " + operation.name() + " " + operation.sequence());
        }

        @Override
        public void operationStalled(OperationInfo operation, Duration soFar) {
            assertThat(soFar).isGreaterThan(stallThreshold());
            note("stalled " + operation.name() + " " + operation.sequence());
        }

        @Override
        public void operationsMissed(long count) {
            note("missed " + count);
        }

        @Override
        public void groupFailed(GroupInfo failed, JcclException cause) {
            causes.add(cause);
            note("failed " + failed.name());
        }

        @Override
        public void groupClosed(GroupInfo closed) {
            note("closed " + closed.name());
        }
    }

    private final BackendProvider provider =
            new ScriptedProvider(
                    config -> {
                        ScriptedCommunicator library = new ScriptedCommunicator();
                        library.completesAtOnce = true;
                        libraries.add(library);
                        return library.communicator();
                    });

    /** Rank 1 of 2, so that messages have a peer. */
    private ProcessGroup world(GroupListener... listeners) {
        return new DefaultProcessGroup(
                new WorldBuilder(
                                1,
                                2,
                                TIMEOUT,
                                List.of(new Backend(provider, Device.CPU, Optional.empty())))
                        .store(HashStore.create(TIMEOUT), false)
                        .listeners(Stream.of(listeners).map(Listener::of).toList())
                        .connect());
    }

    private static Tensor tensor() {
        return Tensor.allocate(Device.CPU, DataType.FLOAT32, 6);
    }

    @Test
    void everyOperationIsToldFromItsStartToItsEnd() {
        Notes notes = new Notes();
        Instant before = Instant.now().minusMillis(5);
        try (ProcessGroup world = world(notes);
                Tensor tensor = tensor();
                Tensor half = Tensor.allocate(Device.CPU, DataType.FLOAT32, 3)) {
            world.allReduce(tensor, ReduceOp.SUM).await();
            world.sync().allGatherSingle(tensor, half);
            world.sync().send(tensor, 0, 5);
            world.sync().barrier();
        }
        assertThat(notes.told())
                .containsExactly(
                        "made world",
                        "started allReduce 0",
                        "completed allReduce 0",
                        "started allGather 1",
                        "completed allGather 1",
                        "started send 0",
                        "completed send 0",
                        "started barrier 2",
                        "completed barrier 2",
                        "closed world");
        assertThat(notes.group)
                .isEqualTo(new GroupInfo("world", 1, 2, List.of(0, 1), "scripted", Device.CPU));
        assertThat(notes.thread.getName()).isEqualTo("jccl-listeners-rank-1");
        assertThat(notes.operations.get(0)).isEqualTo(notes.operations.get(1));
        assertThat(notes.operations)
                .extracting(OperationInfo::bytes)
                .containsExactly(24L, 24L, 24L, 24L, 24L, 24L, 0L, 0L);
        assertThat(notes.operations)
                .extracting(OperationInfo::peer)
                .containsExactly(-1, -1, -1, -1, 0, 0, -1, -1);
        OperationInfo send = notes.operations.get(4);
        assertThat(send.collective()).isFalse();
        assertThat(send.type()).contains(DataType.FLOAT32);
        assertThat(send.issued()).isBetween(before, Instant.now().plusMillis(5));
        assertThat(notes.times)
                .allSatisfy(
                        time -> {
                            assertThat(time.elapsed()).isBetween(Duration.ZERO, TIMEOUT);
                            assertThat(time.onDevice()).isEmpty();
                        });
    }

    @Test
    void subGroupsTellTheSameListeners() {
        Notes notes = new Notes();
        Notes others = new Notes();
        try (ProcessGroup world = world(notes, others);
                ProcessGroup group = world.newGroup(List.of(1)).orElseThrow()) {
            group.sync().barrier();
        }
        assertThat(notes.told())
                .containsExactly(
                        "made world",
                        "made world/1",
                        "started barrier 0",
                        "completed barrier 0",
                        "closed world/1",
                        "closed world")
                .isEqualTo(others.told());
        assertThat(notes.group.worldRank()).isEqualTo(1);
        assertThat(notes.group.rank()).isZero();
    }

    @Test
    void aFailureIsToldOnceForTheGroupAndOnceForEachOperation() throws Exception {
        Notes notes = new Notes();
        try (ProcessGroup world = world(notes);
                Tensor tensor = tensor()) {
            libraries.get(0).failure =
                    new GroupAbortedException(FailureContext.NONE, "the cable is out");
            assertThatThrownBy(() -> world.sync().allReduce(tensor, ReduceOp.SUM))
                    .hasMessageContaining("cable");
            assertThatThrownBy(() -> world.sync().allReduce(tensor, ReduceOp.SUM))
                    .hasMessageContaining("failed before");
            notes.await("failed allReduce 0");
        }
        assertThat(notes.told())
                .containsExactly(
                        "made world",
                        "started allReduce 0",
                        "failed world",
                        "failed allReduce 0",
                        "closed world");
        assertThat(notes.causes).hasSize(2).allMatch(each -> each.reason().contains("cable"));
    }

    @Test
    void whatAllRanksRefuseFailsTheOperationAndNotTheGroup() {
        Notes notes = new Notes();
        try (ProcessGroup world = world(notes);
                Tensor tensor = tensor()) {
            libraries.get(0).failure = new RefusedOperationException("no such type");
            assertThatThrownBy(() -> world.sync().allReduce(tensor, ReduceOp.SUM))
                    .isInstanceOf(UsageException.class);
        }
        assertThat(notes.told())
                .containsExactly(
                        "made world", "started allReduce 0", "failed allReduce 0", "closed world");
    }

    @Test
    void whatRunsForLongIsToldOnceAsStalled() throws Exception {
        Notes notes =
                new Notes() {
                    @Override
                    public Duration stallThreshold() {
                        return Duration.ofMillis(150);
                    }
                };
        try (ProcessGroup world = world(notes);
                Tensor tensor = tensor()) {
            libraries.get(0).block();
            Work work = world.allReduce(tensor, ReduceOp.SUM);
            notes.await("stalled allReduce 0");
            assertThat(work.isCompleted()).isFalse();
            Thread.sleep(300);
            libraries.get(0).unblock();
            work.await();
        }
        assertThat(notes.told())
                .containsExactly(
                        "made world",
                        "started allReduce 0",
                        "stalled allReduce 0",
                        "completed allReduce 0",
                        "closed world");
    }

    @Test
    void aThresholdThatIsNoneIsRefused() {
        Notes notes =
                new Notes() {
                    @Override
                    public Duration stallThreshold() {
                        return Duration.ZERO;
                    }
                };
        assertThatThrownBy(() -> ProcessGroup.builder().listener(notes))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("stallThreshold() of a listener must be positive");
    }

    /** Collects what is logged about listeners. */
    private static final class Log extends Handler implements AutoCloseable {

        private final Logger logger = Logger.getLogger("org.jccl.listener");
        private final List<LogRecord> records = new ArrayList<>();

        Log() {
            logger.addHandler(this);
            logger.setUseParentHandlers(false);
        }

        @Override
        public synchronized void publish(LogRecord message) {
            records.add(message);
        }

        synchronized List<LogRecord> records() {
            return List.copyOf(records);
        }

        @Override
        public void flush() {}

        @Override
        public void close() {
            logger.removeHandler(this);
            logger.setUseParentHandlers(true);
        }
    }

    @Test
    void whatAListenerThrowsIsLoggedOnceAndHarmsNobody() {
        GroupListener broken =
                new GroupListener() {
                    @Override
                    public void operationStarted(OperationInfo operation) {
                        throw new AssertionError("a bug of mine");
                    }

                    @Override
                    public String toString() {
                        throw new IllegalStateException("not even that");
                    }
                };
        GroupListener sloppy =
                new GroupListener() {
                    @Override
                    public void operationStarted(OperationInfo operation) {
                        throw new StackOverflowError();
                    }
                };
        Notes notes = new Notes();
        try (Log log = new Log()) {
            try (ProcessGroup world = world(broken, sloppy, notes)) {
                for (int i = 0; i < 3; i++) {
                    world.sync().barrier();
                }
            }
            assertThat(log.records())
                    .extracting(LogRecord::getMessage)
                    .hasSize(2)
                    .allSatisfy(
                            each ->
                                    assertThat(each)
                                            .startsWith("listener org.jccl.")
                                            .endsWith(
                                                    " threw an exception; later ones are not"
                                                            + " logged"));
            assertThat(log.records())
                    .extracting(LogRecord::getThrown)
                    .hasOnlyElementsOfTypes(AssertionError.class, StackOverflowError.class);
        }
        assertThat(notes.told()).hasSize(8).endsWith("completed barrier 2", "closed world");
    }

    @Test
    void aListenerMayCloseTheWorld() throws Exception {
        CompletableFuture<ProcessGroup> made = new CompletableFuture<>();
        CompletableFuture<String> closed = new CompletableFuture<>();
        Notes closing =
                new Notes() {
                    @Override
                    public void operationCompleted(OperationInfo operation, OperationTime time) {
                        made.join().close();
                        closed.complete(Thread.currentThread().getName());
                    }
                };
        ProcessGroup world = world(closing);
        made.complete(world);
        world.sync().barrier();
        assertThat(closed.get(20, TimeUnit.SECONDS)).isEqualTo("jccl-listeners-rank-1");
        closing.await("closed world");
        closing.thread.join(20_000);
        assertThat(closing.thread.isAlive()).isFalse();
        assertThatThrownBy(() -> world.sync().barrier()).hasMessageContaining("closed");
    }

    @Test
    void aListenerMayAbortWhatStalls() {
        CompletableFuture<ProcessGroup> made = new CompletableFuture<>();
        GroupListener impatient =
                new GroupListener() {
                    @Override
                    public Duration stallThreshold() {
                        return Duration.ofMillis(100);
                    }

                    @Override
                    public void operationStalled(OperationInfo operation, Duration soFar) {
                        made.join().abort();
                    }
                };
        try (ProcessGroup world = world(impatient)) {
            made.complete(world);
            libraries.get(0).block();
            assertThatThrownBy(() -> world.sync().barrier())
                    .isInstanceOf(GroupAbortedException.class)
                    .hasMessageContaining("abort() was called");
        }
    }

    @Test
    void aListenerMayIssueOperations() throws Exception {
        CompletableFuture<ProcessGroup> made = new CompletableFuture<>();
        Notes issuing =
                new Notes() {
                    @Override
                    public void operationCompleted(OperationInfo operation, OperationTime time) {
                        super.operationCompleted(operation, time);
                        if (operation.sequence() < 20) {
                            made.join().sync().barrier();
                            made.join().barrier().await();
                        }
                    }
                };
        try (ProcessGroup world = world(issuing)) {
            made.complete(world);
            world.sync().barrier();
            issuing.await("completed barrier 40");
        }
    }

    /** One that waits for ever is left behind, and said so. */
    @Test
    void aListenerThatHangsDelaysNoOperationAndTheEndForASecond() throws Exception {
        CountDownLatch inside = new CountDownLatch(1);
        CountDownLatch leave = new CountDownLatch(1);
        GroupListener hanging =
                new GroupListener() {
                    @Override
                    public void operationStarted(OperationInfo operation) {
                        inside.countDown();
                        awaitLong(leave);
                    }
                };
        try (Log log = new Log()) {
            ProcessGroup world = world(hanging);
            world.sync().barrier();
            inside.await();
            for (int i = 0; i < 1000; i++) {
                world.sync().barrier();
            }
            world.close();
            assertThat(log.records())
                    .extracting(LogRecord::getMessage)
                    .containsExactly(
                            "a listener did not handle its events within 1 s after the world was closed");
        } finally {
            leave.countDown();
        }
    }

    private static void awaitLong(CountDownLatch latch) {
        try {
            latch.await(60, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void aSlowListenerLearnsHowManyOperationsItMissed() throws Exception {
        CountDownLatch inside = new CountDownLatch(1);
        CountDownLatch leave = new CountDownLatch(1);
        AtomicInteger started = new AtomicInteger();
        AtomicInteger completed = new AtomicInteger();
        Notes slow =
                new Notes() {
                    @Override
                    public void operationStarted(OperationInfo operation) {
                        started.incrementAndGet();
                        inside.countDown();
                        awaitLong(leave);
                    }

                    @Override
                    public void operationCompleted(OperationInfo operation, OperationTime time) {
                        completed.incrementAndGet();
                    }
                };
        int surplus = 100;
        try (Log log = new Log()) {
            ProcessGroup world = world(slow);
            world.sync().barrier();
            inside.await();
            for (int i = 0; i < ListenerThread.CAPACITY + surplus; i++) {
                world.sync().barrier();
            }
            leave.countDown();
            // Closing waits for a second only.
            while (completed.get() <= ListenerThread.CAPACITY) {
                Thread.sleep(10);
            }
            world.close();
            assertThat(log.records())
                    .singleElement()
                    .satisfies(each -> assertThat(each.getMessage()).contains("is slower than"));
        }
        assertThat(slow.told()).contains("missed " + surplus, "closed world");
        assertThat(started).hasValue(ListenerThread.CAPACITY + 1).hasValue(completed.get());
    }

    @Test
    void nothingRunsWithoutListeners() {
        try (ProcessGroup world = world()) {
            world.sync().barrier();
            assertThat(Thread.getAllStackTraces().keySet())
                    .extracting(Thread::getName)
                    .doesNotContain("jccl-listeners-rank-1");
        }
    }
}
