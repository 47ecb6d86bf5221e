package org.jccl.nccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.ref.WeakReference;
import java.lang.reflect.Proxy;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.jccl.DataType;
import org.jccl.Event;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Stream;
import org.jccl.Tensor;
import org.jccl.UsageException;
import org.jccl.Work;
import org.jccl.internal.memory.Reaper;
import org.jccl.nccl.Gpu.Gate;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledForJreRange;
import org.junit.jupiter.api.condition.JRE;

/** How computation and collectives on several streams are ordered, on one device. */
final class StreamOrderTest {

    private static Tensor floats(int count) {
        return Tensor.allocate(World.GPU, DataType.FLOAT32, count);
    }

    @Test
    void eventIsNotReadyUntilWhatWasBeforeItIsDone() {
        try (Stream first = Stream.create(World.GPU, false);
                Stream second = Stream.create(World.GPU, false);
                Event event = Event.create(World.GPU, false);
                Tensor one = floats(2);
                Tensor two = floats(2);
                Gate gate = Gate.on(first)) {
            Gpu.fill(one, 3, first);
            event.record(first);
            assertThat(event.query()).isFalse();
            second.waitEvent(event);
            Gpu.fill(two, 0, second);
            Gpu.axpy(two, one, 1, second);
            assertThat(second.query()).as("OP2 waits for the event").isFalse();
            gate.open();
            event.synchronize();
            assertThat(event.query()).isTrue();
            second.synchronize();
            assertThat(two.copyTo(new float[2])).containsExactly(3, 3);
        }
    }

    @Test
    void collectiveWaitsForTheCallersStreamAndWhatFollowsWaitsForIt() {
        try (ProcessGroup group = World.alone();
                Stream compute = Stream.create(World.GPU, false);
                Tensor input = floats(3);
                Tensor output = floats(3);
                Tensor sum = floats(3);
                Gate gate = Gate.on(compute);
                Stream.Scope scope = compute.use()) {
            assertThat(scope).isNotNull();
            Gpu.fill(sum, 1, compute);
            Gpu.fill(input, 3, compute);
            Work work = group.allGatherSingle(output, input);
            work.await();
            Gpu.axpy(sum, output, 2, compute);
            assertThat(work.isCompleted()).as("the host came here before the device").isFalse();
            gate.open();
            assertThat(sum.copyTo(new float[3])).containsExactly(7, 7, 7);
            work.synchronize();
            assertThat(work.isCompleted()).isTrue();
        }
    }

    @Test
    void synchronousCollectiveIsEnqueuedOnTheCallersStream() {
        try (ProcessGroup group = World.alone();
                Stream compute = Stream.create(World.GPU, false);
                Tensor input = floats(3);
                Tensor output = floats(3);
                Gate gate = Gate.on(compute);
                Stream.Scope scope = compute.use()) {
            assertThat(scope).isNotNull();
            Gpu.fill(input, 4, compute);
            group.sync().allGatherSingle(output, input);
            Gpu.fill(input, 5, compute);
            assertThat(compute.query()).as("the host was not blocked").isFalse();
            gate.open();
            assertThat(output.copyTo(new float[3])).containsExactly(4, 4, 4);
        }
    }

    @Test
    void asynchronousCollectiveLeavesTheCallersStreamFree() {
        try (ProcessGroup group = World.alone();
                Stream first = Stream.create(World.GPU, false);
                Stream second = Stream.create(World.GPU, false);
                Tensor input = floats(1);
                Tensor output = floats(1);
                Gate gate = Gate.on(first)) {
            Work work;
            try (Stream.Scope scope = first.use()) {
                assertThat(scope).isNotNull();
                work = group.allGatherSingle(output, input);
            }
            Gpu.fill(input, 1, second);
            second.synchronize();
            assertThat(work.isCompleted()).isFalse();
            gate.open();
            work.synchronize();
        }
    }

    @Test
    void tensorClosedInFlightIsFreedAfterTheEndEvent() throws Exception {
        try (ProcessGroup group = World.alone();
                Stream compute = Stream.create(World.GPU, false);
                Tensor memory = floats(3);
                Tensor output = floats(3);
                Gate gate = Gate.on(compute)) {
            AtomicBoolean freed = new AtomicBoolean();
            Tensor input =
                    Tensor.adopt(
                            memory.address(),
                            3,
                            DataType.FLOAT32,
                            World.GPU,
                            () -> freed.set(true));
            Work work;
            try (Stream.Scope scope = compute.use()) {
                assertThat(scope).isNotNull();
                work = group.allGatherSingle(output, input);
            }
            input.close();
            assertThat(freed).isFalse();
            gate.open();
            work.synchronize();
            assertThat(Reaper.of(World.GPU).await(World.TIMEOUT)).isTrue();
            assertThat(freed).isTrue();
        }
    }

    @Test
    void ownerOfDroppedTensorStaysReachableInFlight() throws Exception {
        try (ProcessGroup group = World.alone();
                Stream compute = Stream.create(World.GPU, false);
                Tensor memory = floats(3);
                Gate gate = Gate.on(compute)) {
            WeakReference<Object> owner = dropInFlight(group, compute, memory);
            System.gc();
            System.gc();
            assertThat(owner.get()).as("owner while the work runs").isNotNull();
            gate.open();
            // Nobody has the work: the watchdog must let the memory go.
            while (owner.get() != null) {
                System.gc();
                Thread.sleep(20); // Lets the watchdog tick; the test's deadline ends a failure.
            }
        }
    }

    private static WeakReference<Object> dropInFlight(
            ProcessGroup group, Stream compute, Tensor memory) {
        Object owner = new Object();
        Tensor tensor = Tensor.of(memory.address(), 3, DataType.FLOAT32, World.GPU, owner);
        try (Stream.Scope scope = compute.use()) {
            assertThat(scope).isNotNull();
            group.allReduce(tensor, ReduceOp.SUM);
        }
        return new WeakReference<>(owner);
    }

    @Test
    void foreignStreamCanBeCurrent() {
        try (ProcessGroup group = World.alone();
                Stream theirs = Stream.create(World.GPU, false);
                Tensor input = floats(1);
                Tensor output = floats(1);
                Gate gate = Gate.on(theirs)) {
            Stream wrapped = Stream.ofHandle(World.GPU, theirs.handle(), theirs);
            try (Stream.Scope scope = wrapped.use()) {
                assertThat(scope).isNotNull();
                Gpu.fill(input, 8, theirs);
                Work work = group.allGatherSingle(output, input);
                work.await();
                assertThat(work.isCompleted()).isFalse();
                gate.open();
                assertThat(output.copyTo(new float[1])).containsExactly(8);
            }
            wrapped.close();
            theirs.synchronize();
        }
    }

    @Test
    void workCompletesItsFutureWithoutBeingAsked() throws Exception {
        try (ProcessGroup group = World.alone();
                Tensor tensor = floats(1)) {
            group.allReduce(tensor, ReduceOp.SUM).toFuture().get();
        }
    }

    @Test
    void tensorOfAnotherDeviceIsRefused() {
        try (ProcessGroup group = World.alone();
                Tensor tensor = Tensor.allocate(World.gpu(1), DataType.FLOAT32, 1)) {
            assertThatThrownBy(() -> group.allReduce(tensor, ReduceOp.SUM))
                    .isInstanceOf(UsageException.class)
                    .hasMessageContaining("cuda:1")
                    .hasMessageContaining("cuda:0");
        }
    }

    @Test
    @EnabledForJreRange(min = JRE.JAVA_21)
    void virtualThreadIsRefused() throws Exception {
        try (ProcessGroup group = World.alone();
                Tensor tensor = floats(1)) {
            AtomicReference<Throwable> thrown = new AtomicReference<>();
            Runnable call =
                    () -> {
                        try {
                            group.allReduce(tensor, ReduceOp.SUM);
                        } catch (UsageException e) {
                            thrown.set(e);
                        }
                    };
            Thread thread =
                    (Thread)
                            Thread.class
                                    .getMethod("startVirtualThread", Runnable.class)
                                    .invoke(null, call);
            thread.join();
            assertThat(thrown.get()).hasMessageContaining("platform thread");
            group.allReduce(tensor, ReduceOp.SUM).synchronize();
        }
    }

    @Test
    void streamsAndEventsThatSomebodyElseImplementedAreRefused() {
        Stream foreignStream = foreign(Stream.class);
        Event foreignEvent = foreign(Event.class);
        try (Stream stream = Stream.create(World.GPU, false);
                Event event = Event.create(World.GPU, true)) {
            event.record(stream);
            refused(() -> event.record(foreignStream), "Stream.ofHandle");
            refused(() -> stream.waitEvent(foreignEvent), "Event.ofHandle");
            refused(() -> event.elapsed(foreignEvent), "Event.ofHandle");
            refused(() -> event.record(null), "stream is null");
            refused(() -> stream.waitEvent(null), "event is null");
            refused(() -> event.elapsed(null), "event is null");
        }
    }

    /** As a library for mocks makes one: nothing has a value. */
    private static <T> T foreign(Class<T> type) {
        return type.cast(
                Proxy.newProxyInstance(
                        type.getClassLoader(),
                        new Class<?>[] {type},
                        (proxy, method, arguments) -> null));
    }

    private static void refused(ThrowingCallable call, String words) {
        assertThatThrownBy(call).isInstanceOf(UsageException.class).hasMessageContaining(words);
    }
}
