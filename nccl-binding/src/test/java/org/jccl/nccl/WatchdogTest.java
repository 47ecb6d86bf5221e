package org.jccl.nccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.jccl.testing.Patience.enough;

import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import org.jccl.DataType;
import org.jccl.Event;
import org.jccl.FailureContext;
import org.jccl.GroupAbortedException;
import org.jccl.JcclException;
import org.jccl.MismatchException;
import org.jccl.OperationTimeoutException;
import org.jccl.ReduceOp;
import org.jccl.Stream;
import org.jccl.Tensor;
import org.jccl.Work;
import org.jccl.conformance.Ranks;
import org.jccl.internal.device.StreamEngine;
import org.jccl.internal.operation.Operation;
import org.jccl.nccl.Gpu.Gate;
import org.jccl.spi.Durations;
import org.jccl.spi.OperationKind;
import org.jccl.spi.StreamCommunicator;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Works that never end by themselves. */
@Tag("all")
final class WatchdogTest {

    private static final Duration SHORT = Ranks.onThisHost(2);

    @Test
    void collectiveThatAPeerNeverJoinsIsAbortedAndTheGroupFails() throws Exception {
        CountDownLatch failed = new CountDownLatch(1);
        World.run(
                2,
                SHORT,
                NcclOptions.defaults(),
                (group, device) -> {
                    if (group.rank() == 1) {
                        failed.await();
                        return;
                    }
                    try (Tensor tensor = Tensor.allocate(device, DataType.FLOAT32, 4)) {
                        Work work = group.allReduce(tensor, ReduceOp.SUM);
                        assertThatThrownBy(work::synchronize)
                                .isInstanceOf(JcclException.class)
                                .hasMessageContaining("allReduce(float32 x 4, SUM)")
                                .hasMessageContaining("rank 0");
                        assertThat(work.isCompleted()).isTrue();
                        assertThat(work.exception()).isPresent();
                        assertThatThrownBy(() -> group.allReduce(tensor, ReduceOp.SUM))
                                .isInstanceOf(GroupAbortedException.class);
                        // The abort frees the device, which other groups and streams still use.
                        Stream.current(device).synchronize();
                    } finally {
                        failed.countDown();
                    }
                });
    }

    /** The device frees memory once it is idle, which it is when the watchdog has done its work. */
    @Test
    void memoryLetGoBehindAStuckCollectiveDoesNotHoldTheWatchdog() throws Exception {
        CountDownLatch failed = new CountDownLatch(1);
        World.run(
                2,
                enough(Duration.ofSeconds(3)),
                NcclOptions.defaults(),
                (group, device) -> {
                    Tensor moved = Tensor.allocate(device, DataType.FLOAT32, 4);
                    Work move = group.broadcast(moved, 0);
                    if (group.rank() == 1) {
                        move.synchronize();
                        moved.close();
                        failed.await();
                        return;
                    }
                    try (Tensor tensor = Tensor.allocate(device, DataType.FLOAT32, 4)) {
                        moved.close();
                        Work stuck = group.allReduce(tensor, ReduceOp.SUM);
                        assertThatThrownBy(stuck::synchronize)
                                .isInstanceOf(OperationTimeoutException.class);
                        assertThat(move.exception()).isEmpty();
                    } finally {
                        failed.countDown();
                    }
                });
    }

    @Test
    void whatReleasesAdoptedMemoryMayBlock() throws Exception {
        CountDownLatch released = new CountDownLatch(1);
        try (Tensor memory = Tensor.allocate(World.GPU, DataType.FLOAT32, 4)) {
            try (var group = World.alone()) {
                Tensor adopted =
                        Tensor.adopt(
                                memory.address(),
                                4,
                                DataType.FLOAT32,
                                World.GPU,
                                blocked(released));
                Work work = group.allReduce(adopted, ReduceOp.SUM);
                adopted.close();
                while (!work.isCompleted()) {
                    Thread.onSpinWait();
                }
                work.synchronize();
                // The threads of futures and of the watchdog go on too.
                group.allReduce(memory, ReduceOp.SUM).toFuture().get();
            } finally {
                released.countDown();
            }
        }
    }

    private static Runnable blocked(CountDownLatch released) {
        return () -> await(released);
    }

    @Test
    void synchronousCallThatAPeerNeverJoinsIsAbortedAndTheGroupFails() throws Exception {
        CountDownLatch failed = new CountDownLatch(1);
        World.run(
                2,
                SHORT,
                NcclOptions.defaults(),
                (group, device) -> {
                    if (group.rank() == 1) {
                        failed.await();
                        return;
                    }
                    try (Tensor tensor = Tensor.allocate(device, DataType.FLOAT32, 4)) {
                        for (int i = 0; i < 3; i++) {
                            group.sync().allReduce(tensor, ReduceOp.SUM);
                        }
                        assertThatThrownBy(Stream.current(device)::synchronize)
                                .isInstanceOf(OperationTimeoutException.class);
                        assertThatThrownBy(() -> group.sync().allReduce(tensor, ReduceOp.SUM))
                                .isInstanceOf(GroupAbortedException.class)
                                .cause()
                                .isInstanceOf(OperationTimeoutException.class)
                                .hasMessageContaining("allReduce(float32 x 4, SUM)")
                                .hasMessageContaining("operation 2")
                                .hasMessageContaining(
                                        "not complete after " + Durations.text(SHORT));
                    } finally {
                        failed.countDown();
                    }
                });
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    @Tag("mismatches")
    void callsThatDifferAreComparedOnceTheyAreStuck(boolean synchronous) throws Exception {
        World.run(
                2,
                (group, device) -> {
                    try (Tensor tensor = Tensor.allocate(device, DataType.FLOAT32, 4)) {
                        Tensor mine = tensor.slice(0, 2 + group.rank());
                        if (synchronous) {
                            group.sync().allReduce(mine, ReduceOp.SUM);
                        } else {
                            group.allReduce(mine, ReduceOp.SUM).await();
                        }
                        assertThatThrownBy(Stream.current(device)::synchronize)
                                .isInstanceOf(MismatchException.class);
                        assertThatThrownBy(() -> group.sync().barrier())
                                .isInstanceOf(GroupAbortedException.class)
                                .cause()
                                .isInstanceOf(MismatchException.class)
                                .hasMessageContaining("allReduce(float32 x 2, SUM)")
                                .hasMessageContaining("allReduce(float32 x 3, SUM)");
                    }
                });
    }

    @Test
    void streamThatIsClosedAfterASynchronousCallIsLeftAlone() throws Exception {
        try (var group = World.alone();
                Tensor tensor = Tensor.allocate(World.GPU, DataType.FLOAT32, 1)) {
            // The mock ends the process when a destroyed stream is used; ticks come meanwhile.
            for (int i = 0; i < 100; i++) {
                try (Stream stream = Stream.create(World.GPU, false);
                        Stream.Scope scope = stream.use()) {
                    assertThat(scope).isNotNull();
                    group.sync().allReduce(tensor, ReduceOp.SUM);
                }
                Thread.sleep(3);
            }
            group.allReduce(tensor, ReduceOp.SUM).synchronize();
        }
    }

    @Test
    void synchronousCallOnAStreamThatWasClosedHasADeadlineToo() throws Exception {
        CountDownLatch failed = new CountDownLatch(1);
        World.run(
                2,
                SHORT,
                NcclOptions.defaults(),
                (group, device) -> {
                    if (group.rank() == 1) {
                        failed.await();
                        return;
                    }
                    try (Tensor tensor = Tensor.allocate(device, DataType.FLOAT32, 4);
                            Event event = Event.create(device, false)) {
                        try (Stream stream = Stream.create(device, false);
                                Stream.Scope scope = stream.use()) {
                            assertThat(scope).isNotNull();
                            group.sync().allReduce(tensor, ReduceOp.SUM);
                            event.record(stream);
                        }
                        assertThatThrownBy(event::synchronize)
                                .isInstanceOf(OperationTimeoutException.class);
                    } finally {
                        failed.countDown();
                    }
                });
    }

    /** As when NCCL meets a peer for the first time. */
    @Test
    void synchronousCallThatTheLibraryDoesNotComeBackFromHasADeadline() {
        CountDownLatch aborted = new CountDownLatch(1);
        CountDownLatch inside = new CountDownLatch(1);
        StreamEngine engine =
                BareEngine.of(BareEngine.CUDA, between -> blocking(between, inside, aborted));
        Thread watchdog =
                new Thread(
                        () -> {
                            await(inside);
                            for (int i = 0; i < 4; i++) {
                                engine.watch(System.nanoTime() + i * World.TIMEOUT.toNanos());
                            }
                        });
        watchdog.start();
        try (Tensor tensor = Tensor.allocate(World.GPU, DataType.FLOAT32, 4)) {
            Operation operation = engine.borrow();
            operation.kind = OperationKind.ALL_REDUCE;
            operation.input = tensor.address();
            operation.output = tensor.address();
            operation.count = tensor.count();
            operation.type = tensor.dataType();
            operation.op = ReduceOp.SUM;
            assertThatThrownBy(() -> engine.run(operation))
                    .isInstanceOf(OperationTimeoutException.class);
        } finally {
            engine.close(Duration.ZERO);
        }
    }

    /** Stays inside a reduction until it is aborted. */
    private static StreamCommunicator blocking(
            StreamCommunicator communicator, CountDownLatch inside, CountDownLatch aborted) {
        return (StreamCommunicator)
                Proxy.newProxyInstance(
                        StreamCommunicator.class.getClassLoader(),
                        new Class<?>[] {StreamCommunicator.class},
                        (proxy, method, arguments) -> {
                            if (method.getName().equals("allReduce")) {
                                inside.countDown();
                                await(aborted);
                                throw new GroupAbortedException(FailureContext.NONE, "aborted");
                            }
                            if (method.getName().equals("abort")) {
                                aborted.countDown();
                            }
                            return method.invoke(communicator, arguments);
                        });
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException("nobody interrupts this thread", e);
        }
    }

    @Test
    void closingWaitsForSynchronousCalls() throws Exception {
        try (Stream compute = Stream.create(World.GPU, false);
                Tensor tensor = Tensor.allocate(World.GPU, DataType.FLOAT32, 1)) {
            var group = World.alone();
            Gate gate = Gate.on(compute);
            try (Stream.Scope scope = compute.use()) {
                assertThat(scope).isNotNull();
                group.sync().allReduce(tensor, ReduceOp.SUM);
            }
            Thread closing = new Thread(group::close);
            closing.start();
            closing.join(300);
            assertThat(closing.isAlive()).isTrue();
            gate.open();
            closing.join();
            assertThat(compute.query()).isTrue();
        }
    }

    @Test
    void abortEndsAWaitOnAnotherThread() throws Exception {
        CountDownLatch done = new CountDownLatch(1);
        World.run(
                2,
                (group, device) -> {
                    if (group.rank() == 1) {
                        done.await();
                        return;
                    }
                    try (Tensor tensor = Tensor.allocate(device, DataType.FLOAT32, 4)) {
                        Work work = group.allReduce(tensor, ReduceOp.SUM);
                        new Thread(group::abort).start();
                        assertThatThrownBy(work::synchronize)
                                .isInstanceOf(GroupAbortedException.class);
                        assertThatThrownBy(work::await).isInstanceOf(GroupAbortedException.class);
                    } finally {
                        done.countDown();
                    }
                });
    }

    @Test
    void closingWhileAWorkRunsWaitsForIt() throws Exception {
        try (Stream compute = Stream.create(World.GPU, false);
                Tensor tensor = Tensor.allocate(World.GPU, DataType.FLOAT32, 1)) {
            var group = World.alone();
            Gate gate = Gate.on(compute);
            Work work;
            try (Stream.Scope scope = compute.use()) {
                assertThat(scope).isNotNull();
                work = group.allReduce(tensor, ReduceOp.SUM);
            }
            Thread closing = new Thread(group::close);
            closing.start();
            assertThat(work.isCompleted()).isFalse();
            gate.open();
            closing.join();
            assertThat(work.isCompleted()).isTrue();
            assertThat(work.exception()).isEmpty();
            group.close();
        }
    }
}
