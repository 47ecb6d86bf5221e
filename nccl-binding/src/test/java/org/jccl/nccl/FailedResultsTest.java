package org.jccl.nccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.jccl.testing.Patience.enough;

import java.lang.ref.WeakReference;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.bytedeco.cuda.cudart.CUgraphExec_st;
import org.bytedeco.cuda.global.cudart;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.Event;
import org.jccl.FailureContext;
import org.jccl.GroupAbortedException;
import org.jccl.OnFailure;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Store;
import org.jccl.Stream;
import org.jccl.Tensor;
import org.jccl.Work;
import org.jccl.conformance.Ranks;
import org.jccl.internal.device.StreamEngine;
import org.jccl.internal.device.failures.StreamClocks;
import org.jccl.internal.memory.Memory;
import org.jccl.internal.operation.Operation;
import org.jccl.spi.OperationKind;
import org.jccl.spi.StreamCommunicator;
import org.jccl.store.HashStore;
import org.jccl.testing.ChildJvm;
import org.jccl.testing.DeviceTensors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** No wait through this API ends as if what a failed operation has left were its result. */
@Tag("all")
final class FailedResultsTest {

    /** How the host comes to think that a result is there. */
    enum Reader {
        COPY {
            @Override
            void read(Stream stream, Tensor tensor) {
                DeviceTensors.read(tensor);
            }
        },
        STREAM {
            @Override
            void read(Stream stream, Tensor tensor) {
                stream.synchronize();
            }
        },
        STREAM_QUERY {
            @Override
            void read(Stream stream, Tensor tensor) {
                while (!stream.query()) {
                    Thread.onSpinWait();
                }
            }
        },
        WRAPPED_STREAM {
            @Override
            void read(Stream stream, Tensor tensor) {
                Stream.ofHandle(stream.device(), stream.handle(), null).synchronize();
            }
        },
        EVENT {
            @Override
            void read(Stream stream, Tensor tensor) {
                try (Event event = Event.create(stream.device(), false)) {
                    event.record(stream);
                    event.synchronize();
                }
            }
        },
        EVENT_QUERY {
            @Override
            void read(Stream stream, Tensor tensor) {
                try (Event event = Event.create(stream.device(), false)) {
                    event.record(stream);
                    while (!event.query()) {
                        Thread.onSpinWait();
                    }
                }
            }
        },
        OTHER_STREAM {
            @Override
            @SuppressWarnings("try") // The scope is there to be closed.
            void read(Stream stream, Tensor tensor) {
                try (Event event = Event.create(stream.device(), false);
                        Stream other = Stream.create(stream.device(), false);
                        Stream.Scope scope = other.use()) {
                    event.record(stream);
                    other.waitEvent(event);
                    DeviceTensors.read(tensor);
                }
            }
        };

        abstract void read(Stream stream, Tensor tensor);
    }

    /** What rank 0 does after an operation that rank 1 never joins. */
    private interface Body {
        void run(ProcessGroup group, Stream stream, Tensor tensor) throws Exception;
    }

    @SuppressWarnings("try") // The scope is there to be closed.
    private static void afterAStuckOperation(boolean synchronous, Body body) {
        CountDownLatch done = new CountDownLatch(1);
        World.run(
                2,
                (group, device) -> {
                    if (group.rank() == 1) {
                        done.await();
                        return;
                    }
                    try (Stream stream = Stream.create(device, false);
                            Tensor tensor = Tensor.allocate(device, DataType.FLOAT32, 4);
                            Stream.Scope scope = stream.use()) {
                        tensor.copyFrom(new float[4]);
                        if (synchronous) {
                            group.sync().allReduce(tensor, ReduceOp.SUM);
                        } else {
                            group.allReduce(tensor, ReduceOp.SUM).await();
                        }
                        body.run(group, stream, tensor);
                    } finally {
                        done.countDown();
                    }
                });
    }

    private static void assertFails(Reader reader, Stream stream, Tensor tensor) {
        assertThatThrownBy(() -> reader.read(stream, tensor))
                .isInstanceOf(GroupAbortedException.class)
                .hasMessageContaining("abort() was called");
    }

    @ParameterizedTest
    @EnumSource(Reader.class)
    void whoWaitsGetsTheFailureUntilTheGroupIsClosed(Reader reader) {
        afterAStuckOperation(
                false,
                (group, stream, tensor) -> {
                    new Thread(group::abort).start();
                    assertFails(reader, stream, tensor);
                    assertFails(reader, stream, tensor);
                });
    }

    @ParameterizedTest
    @EnumSource(Reader.class)
    void whoWaitsForASynchronousCallGetsTheFailureToo(Reader reader) {
        afterAStuckOperation(
                true,
                (group, stream, tensor) -> {
                    new Thread(group::abort).start();
                    assertFails(reader, stream, tensor);
                });
    }

    /** CUDA's streams wait for the default one, and it for them, unless they say otherwise. */
    @Test
    void defaultStreamWaitsForThoseOfOtherLibraries() {
        afterAStuckOperation(
                false,
                (group, stream, tensor) -> {
                    long theirs = Gpu.createForeignStream();
                    try (Stream wrapped = Stream.ofHandle(World.GPU, theirs, null);
                            Stream standard = Stream.ofHandle(World.GPU, 0, null);
                            Event event = Event.create(World.GPU, false)) {
                        event.record(stream);
                        wrapped.waitEvent(event);
                        event.record(standard);
                        new Thread(group::abort).start();
                        assertFails(Reader.STREAM, standard, tensor);
                        assertThatThrownBy(event::synchronize)
                                .isInstanceOf(GroupAbortedException.class);
                    }
                });
    }

    /** Its end may be before what waits on the default stream. */
    @Test
    void streamOfAnotherLibraryThatIsIdleSaysNothingOfTheDefaultStream() {
        afterAStuckOperation(
                false,
                (group, stream, tensor) -> {
                    long theirs = Gpu.createForeignStream();
                    try (Stream wrapped = Stream.ofHandle(World.GPU, theirs, null);
                            Stream standard = Stream.ofHandle(World.GPU, 0, null);
                            Event event = Event.create(World.GPU, false)) {
                        event.record(stream);
                        standard.waitEvent(event);
                        wrapped.synchronize();
                        group.abort();
                        assertFails(Reader.STREAM, standard, tensor);
                    }
                });
    }

    /** An operation that is issued while a thread waits is not among those that it has seen. */
    @Test
    void whatIsIssuedDuringAWaitStaysOnTheStream() {
        Stream stream = Stream.current(World.GPU);
        StreamEngine group = BareEngine.of(BareEngine.CUDA);
        try (Tensor tensor = Tensor.allocate(World.GPU, DataType.FLOAT32, 4)) {
            Operation during = allReduce(tensor, group.borrow());
            group.submit(allReduce(tensor, group.newOperation())).await();
            StreamClocks.of(World.GPU)
                    .query(
                            stream.handle(),
                            () -> {
                                group.run(during);
                                return true;
                            });
            group.fail(new GroupAbortedException(FailureContext.NONE, "lost"));
            assertThatThrownBy(stream::synchronize).hasMessageContaining("lost");
        } finally {
            group.close(enough(Duration.ofSeconds(5)));
        }
        stream.synchronize();
    }

    /** The failure of a group without operations leaves nothing undefined. */
    @Test
    void groupThatFailsIdleFailsNoStreamAndNoGroupBehindIt() {
        Stream stream = Stream.current(World.GPU);
        StreamEngine group = BareEngine.of(BareEngine.CUDA);
        StreamEngine behind = BareEngine.of(BareEngine.CUDA);
        try (Tensor tensor = Tensor.allocate(World.GPU, DataType.FLOAT32, 4)) {
            Work work = group.submit(allReduce(tensor, group.newOperation()));
            work.await();
            Work last = behind.submit(allReduce(tensor, behind.newOperation()));
            work.synchronize();
            group.fail(new GroupAbortedException(FailureContext.NONE, "lost"));
            last.synchronize();
            behind.run(allReduce(tensor, behind.borrow()));
            stream.synchronize();
        } finally {
            group.close(enough(Duration.ofSeconds(5)));
            behind.close(enough(Duration.ofSeconds(5)));
        }
    }

    @Test
    void whatIsIssuedOnTheDefaultStreamBehindOneOfAnotherLibraryIsRefused() {
        afterAStuckOperation(
                false,
                (group, stream, tensor) -> {
                    long theirs = Gpu.createForeignStream();
                    try (Stream wrapped = Stream.ofHandle(World.GPU, theirs, null);
                            Stream standard = Stream.ofHandle(World.GPU, 0, null);
                            Event event = Event.create(World.GPU, false);
                            ProcessGroup other = World.alone()) {
                        event.record(stream);
                        wrapped.waitEvent(event);
                        group.abort();
                        try (Stream.Scope scope = standard.use()) {
                            assertThat(scope).isNotNull();
                            assertThatThrownBy(() -> other.allReduce(tensor, ReduceOp.SUM))
                                    .isInstanceOf(GroupAbortedException.class)
                                    .hasMessageContaining("abort() was called");
                            assertFails(Reader.STREAM, standard, tensor);
                        }
                    }
                });
    }

    @Test
    void whatAGraphRunsFailsEventsAndOtherGroups() {
        CountDownLatch done = new CountDownLatch(1);
        World.run(
                2,
                (group, device) -> {
                    if (group.rank() == 1) {
                        done.await();
                        return;
                    }
                    try (Stream stream = Stream.create(device, false);
                            Stream other = Stream.create(device, false);
                            Event event = Event.create(device, false);
                            Event second = Event.create(device, false);
                            Tensor tensor = Tensor.allocate(device, DataType.FLOAT32, 4);
                            ProcessGroup alone = World.alone();
                            Stream.Scope scope = stream.use()) {
                        assertThat(scope).isNotNull();
                        GraphTest.begin(stream, cudart.cudaStreamCaptureModeThreadLocal);
                        group.allReduce(tensor, ReduceOp.SUM).await();
                        CUgraphExec_st graph = GraphTest.end(stream);
                        GraphTest.check(cudart.cudaGraphLaunch(graph, Gpu.handle(stream)));
                        event.record(stream);
                        other.waitEvent(event);
                        second.record(other);
                        new Thread(group::abort).start();
                        assertThatThrownBy(event::synchronize)
                                .isInstanceOf(GroupAbortedException.class);
                        assertThatThrownBy(second::synchronize)
                                .isInstanceOf(GroupAbortedException.class);
                        assertThatThrownBy(() -> alone.allReduce(tensor, ReduceOp.SUM))
                                .isInstanceOf(GroupAbortedException.class)
                                .hasMessageContaining("abort() was called");
                        assertFails(Reader.STREAM, stream, tensor);
                        GraphTest.check(cudart.cudaGraphExecDestroy(graph));
                    } finally {
                        done.countDown();
                    }
                });
    }

    @Test
    void arrayStaysAsItWas() {
        afterAStuckOperation(
                false,
                (group, stream, tensor) -> {
                    float[] values = {7, 7, 7, 7};
                    group.abort();
                    assertThatThrownBy(() -> tensor.copyTo(values))
                            .isInstanceOf(GroupAbortedException.class);
                    assertThat(values).containsOnly(7);
                });
    }

    @Test
    void barrierOfAnotherGroupTellsToo() {
        afterAStuckOperation(
                false,
                (group, stream, tensor) -> {
                    try (ProcessGroup other = World.alone()) {
                        group.abort();
                        assertThatThrownBy(() -> other.sync().barrier())
                                .isInstanceOf(GroupAbortedException.class)
                                .hasMessageContaining("abort() was called");
                    }
                });
    }

    @Test
    void whatIsIssuedBehindFailsToo() {
        afterAStuckOperation(
                false,
                (group, stream, tensor) -> {
                    try (ProcessGroup other = World.alone()) {
                        Work behind = other.allReduce(tensor, ReduceOp.SUM);
                        var future = behind.toFuture();
                        group.abort();
                        assertThatThrownBy(behind::synchronize)
                                .isInstanceOf(GroupAbortedException.class)
                                .hasMessageContaining("a group that failed");
                        assertThatThrownBy(future::get).hasMessageContaining("a group that failed");
                    }
                });
    }

    @Test
    void groupsThatDoNotWaitGoOn() {
        afterAStuckOperation(
                false,
                (group, stream, tensor) -> {
                    try (ProcessGroup other = World.alone();
                            Stream free = Stream.create(World.GPU, false);
                            Tensor mine = Tensor.allocate(World.GPU, DataType.FLOAT32, 1)) {
                        group.abort();
                        try (Stream.Scope scope = free.use()) {
                            assertThat(scope).isNotNull();
                            mine.copyFrom(new float[] {3});
                            other.allReduce(mine, ReduceOp.SUM).await();
                            assertThat(DeviceTensors.read(mine)).containsExactly(3);
                        }
                    }
                });
    }

    @Test
    void whatEndedWellBeforeIsNotHeldAgainstAStream() {
        World.run(
                2,
                (group, device) -> {
                    try (Tensor first = DeviceTensors.floats(device, 1);
                            Tensor second = DeviceTensors.floats(device, 2)) {
                        group.sync().allReduce(first, ReduceOp.SUM);
                        assertThat(DeviceTensors.read(first)).containsExactly(2);
                        Work work = group.allReduce(second, ReduceOp.SUM);
                        work.await();
                        work.synchronize();
                        group.sync().barrier();
                        group.abort();
                        assertThat(DeviceTensors.read(first)).containsExactly(2);
                        assertThat(DeviceTensors.read(second)).containsExactly(4);
                        Stream.current(device).synchronize();
                    }
                });
    }

    @Test
    void streamGoesOnWithANewGroupOnceTheProgramKnows() {
        try (Store store = HashStore.create(World.TIMEOUT)) {
            World.run(
                    2,
                    (group, device) -> {
                        try (Tensor tensor = DeviceTensors.floats(device, 1)) {
                            if (group.rank() == 0) {
                                group.allReduce(tensor, ReduceOp.SUM).await();
                                group.abort();
                                // What it gets from the group is enough, and from the stream.
                                assertThatThrownBy(() -> group.allReduce(tensor, ReduceOp.SUM))
                                        .isInstanceOf(GroupAbortedException.class);
                            }
                            group.close();
                            try (ProcessGroup next =
                                    World.join(
                                            store,
                                            group.rank(),
                                            2,
                                            World.TIMEOUT,
                                            NcclOptions.defaults())) {
                                tensor.copyFrom(new float[] {5});
                                next.allReduce(tensor, ReduceOp.SUM).await();
                                assertThat(DeviceTensors.read(tensor)).containsExactly(10);
                            }
                        }
                    });
        }
    }

    @Test
    void streamsTellOnceAfterTheGroupWasClosed() {
        afterAStuckOperation(
                false,
                (group, stream, tensor) -> {
                    try (Stream other = Stream.create(World.GPU, false);
                            Event event = Event.create(World.GPU, false)) {
                        event.record(stream);
                        other.waitEvent(event);
                        group.abort();
                        group.close();
                        assertFails(Reader.COPY, stream, tensor);
                        DeviceTensors.read(tensor);
                        assertFails(Reader.STREAM, other, tensor);
                        other.synchronize();
                        assertThatThrownBy(event::synchronize)
                                .isInstanceOf(GroupAbortedException.class);
                        event.record(stream);
                        event.synchronize();
                    }
                });
    }

    /** A sub-group's, for instance, that failed while it was closed. */
    @Test
    void aNewGroupSaysWhyItsFirstCallIsRefusedAndTakesTheNext() {
        afterAStuckOperation(
                false,
                (group, stream, tensor) -> {
                    group.abort();
                    group.close();
                    try (ProcessGroup next = World.alone()) {
                        assertThatThrownBy(() -> next.allReduce(tensor, ReduceOp.SUM))
                                .isInstanceOf(GroupAbortedException.class)
                                .hasMessageContaining("abort() was called")
                                .hasMessageContaining("a call on " + context(next) + " was not")
                                .hasMessageContaining("repeat the call");
                        tensor.copyFrom(new float[] {5, 5, 5, 5});
                        next.allReduce(tensor, ReduceOp.SUM).await();
                        assertThat(DeviceTensors.read(tensor)).containsExactly(5, 5, 5, 5);
                    }
                });
    }

    private static String context(ProcessGroup group) {
        return "group '" + group.name() + "', rank " + group.rank();
    }

    @Test
    void oneWaitTellsOfAllGroupsThatAreClosed() {
        List<StreamEngine> groups = new ArrayList<>();
        try (Tensor tensor = Tensor.allocate(World.GPU, DataType.FLOAT32, 4)) {
            for (int i = 0; i < 3; i++) {
                StreamEngine group = BareEngine.of(BareEngine.CUDA);
                groups.add(group);
                group.submit(allReduce(tensor, group.newOperation())).await();
            }
            groups.forEach(
                    group -> group.fail(new GroupAbortedException(FailureContext.NONE, "lost")));
        }
        Stream stream = Stream.current(World.GPU);
        assertThatThrownBy(stream::synchronize).isInstanceOf(GroupAbortedException.class);
        groups.forEach(group -> group.close(enough(Duration.ofSeconds(5))));
        // Of one the program has heard before.
        assertThatThrownBy(stream::synchronize).isInstanceOf(GroupAbortedException.class);
        stream.synchronize();
    }

    /**
     * What is issued and not known to have ended fails with its group; the watchdog says so later.
     */
    @Test
    void worksOfAFailedGroupTellAtOnceAndLeaveNothingOnTheStream() {
        Stream stream = Stream.current(World.GPU);
        StreamEngine group = BareEngine.of(BareEngine.CUDA);
        try (Tensor tensor = Tensor.allocate(World.GPU, DataType.FLOAT32, 4)) {
            group.run(allReduce(tensor, group.borrow()));
            Work work = group.submit(allReduce(tensor, group.newOperation()));
            group.fail(new GroupAbortedException(FailureContext.NONE, "lost"));
            assertThatThrownBy(stream::synchronize).hasMessageContaining("lost");
            assertThatThrownBy(work::await).hasMessageContaining("lost");
        } finally {
            group.close(enough(Duration.ofSeconds(5)));
        }
        stream.synchronize();
    }

    @Test
    void whoAsksAWorkForItsFailureIsTold() {
        StreamEngine group = BareEngine.of(BareEngine.CUDA);
        try (Tensor tensor = Tensor.allocate(World.GPU, DataType.FLOAT32, 4)) {
            Work work = group.submit(allReduce(tensor, group.newOperation()));
            work.await();
            group.fail(new GroupAbortedException(FailureContext.NONE, "lost"));
            assertThat(work.isCompleted()).isTrue();
            assertThat(work.exception()).isPresent();
        } finally {
            group.close(enough(Duration.ofSeconds(5)));
        }
        Stream.current(World.GPU).synchronize();
    }

    @Test
    void streamsDoNotKeepGroups() throws Exception {
        WeakReference<StreamEngine> good = closed(false);
        WeakReference<StreamEngine> failed = closed(true);
        for (int i = 0; i < 200 && (good.get() != null || failed.get() != null); i++) {
            System.gc();
            Thread.sleep(10);
        }
        assertThat(good.get()).isNull();
        assertThat(failed.get()).isNull();
        assertThatThrownBy(Stream.current(World.GPU)::synchronize)
                .isInstanceOf(GroupAbortedException.class);
        Stream.current(World.GPU).synchronize();
    }

    private static WeakReference<StreamEngine> closed(boolean fails) {
        StreamEngine engine = BareEngine.of(BareEngine.CUDA);
        try (Tensor tensor = Tensor.allocate(World.GPU, DataType.FLOAT32, 4)) {
            engine.submit(allReduce(tensor, engine.newOperation())).await();
            engine.run(allReduce(tensor, engine.borrow()));
            if (fails) {
                engine.fail(new GroupAbortedException(FailureContext.NONE, "lost"));
            }
            engine.close(enough(Duration.ofSeconds(5)));
        }
        return new WeakReference<>(engine);
    }

    /** The library may be inside a call that has failed, and go on with what it was given. */
    @Test
    void memoryOfACallThatTheLibraryDoesNotLetGoOfIsKept() {
        StreamEngine engine = BareEngine.of(BareEngine.CUDA, FailedResultsTest::abandoning);
        try {
            AtomicInteger freed = new AtomicInteger();
            Memory memory = Memory.owned(freed::incrementAndGet, "kept");
            Operation operation = engine.newOperation();
            operation.kind = OperationKind.ALL_REDUCE;
            operation.type = DataType.FLOAT32;
            operation.op = ReduceOp.SUM;
            operation.count = 4;
            assertThat(operation.hold(memory)).isTrue();
            assertThatThrownBy(() -> engine.run(operation))
                    .isInstanceOf(GroupAbortedException.class)
                    .hasMessageContaining("stuck inside");
            memory.close();
            assertThat(freed).hasValue(0);
        } finally {
            engine.close(enough(Duration.ofSeconds(5)));
        }
    }

    private static StreamCommunicator abandoning(StreamCommunicator real) {
        return (StreamCommunicator)
                Proxy.newProxyInstance(
                        StreamCommunicator.class.getClassLoader(),
                        new Class<?>[] {StreamCommunicator.class},
                        (proxy, method, arguments) ->
                                switch (method.getName()) {
                                    case "allReduce" ->
                                            throw new GroupAbortedException(
                                                    FailureContext.NONE, "stuck inside");
                                    case "abandonsOperations" -> true;
                                    default -> method.invoke(real, arguments);
                                });
    }

    private static Operation allReduce(Tensor tensor, Operation operation) {
        operation.kind = OperationKind.ALL_REDUCE;
        operation.input = tensor.address();
        operation.output = tensor.address();
        operation.count = tensor.count();
        operation.type = tensor.dataType();
        operation.op = ReduceOp.SUM;
        return operation;
    }

    /** A program that reads what an operation has left by means of its own. */
    static final class ReadsItself {

        private ReadsItself() {}

        /** The first world of a process loads all code, which may take longer than 2 s. */
        private static ProcessGroup join(Store store, int rank) {
            join(store, rank, World.TIMEOUT).close();
            return join(store, rank, Ranks.onThisHost(2));
        }

        private static ProcessGroup join(Store store, int rank, Duration timeout) {
            return ProcessGroup.builder()
                    .backend("nccl")
                    .store(store)
                    .rank(rank)
                    .worldSize(2)
                    .device(new Device("cuda", rank))
                    .timeout(timeout)
                    .onFailure(rank == 0 ? OnFailure.END_PROCESS : OnFailure.THROW)
                    .build();
        }

        public static void main(String[] arguments) {
            Store store = HashStore.create(World.TIMEOUT);
            Thread other = new Thread(() -> join(store, 1));
            other.setDaemon(true);
            other.start();
            ProcessGroup group = join(store, 0);
            Tensor tensor = Tensor.allocate(World.GPU, DataType.FLOAT32, 4);
            group.allReduce(tensor, ReduceOp.SUM).await();
            System.out.println("awaited");
            CudaRuntime.enter(0);
            BareEngine.CUDA.synchronizeStream(0);
            System.out.println("came past the failed operation");
            Runtime.getRuntime().halt(0);
        }
    }

    @Test
    void processEndsBeforeItCanReadByItselfWhereThatWasAskedFor() throws Exception {
        assertThat(ChildJvm.outputOf(1, ReadsItself.class, Map.of()))
                .contains("awaited", "the process ends, as onFailure(END_PROCESS) requests")
                .contains("OperationTimeoutException", "allReduce(float32 x 4, SUM)")
                .doesNotContain("came past the failed operation");
    }
}
