package org.jccl.sccl;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.Event;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Stream;
import org.jccl.Tensor;
import org.jccl.testing.ChildJvm;
import org.junit.jupiter.api.Test;

/** Several threads on a device's one stream, whose calls must not come between one another. */
final class QueueTest {

    /** Reduces on two ranks, while another thread of each uses the stream for what it likes. */
    static final class TwoThreads {

        private TwoThreads() {}

        public static void main(String[] arguments) {
            World.run(
                    2,
                    (group, device) -> {
                        AtomicBoolean done = new AtomicBoolean();
                        CompletableFuture<Void> other =
                                CompletableFuture.runAsync(
                                        () -> use(Stream.current(device), done),
                                        task -> new Thread(task).start());
                        reduce(group, Tensor.allocate(device, DataType.INT32, 1));
                        done.set(true);
                        other.join();
                        System.out.println("rank " + group.rank() + " is through");
                    });
        }

        private static void reduce(ProcessGroup group, Tensor tensor) {
            for (int round = 0; round < 20; round++) {
                tensor.copyFrom(new int[] {round});
                group.allReduce(tensor, ReduceOp.SUM);
                group.sync().allReduce(tensor, ReduceOp.SUM);
                assertThat(tensor.copyTo(new int[1])).containsExactly(4 * round);
            }
        }

        private static void use(Stream stream, AtomicBoolean done) {
            try (Event plain = Event.create(stream.device(), false);
                    Event timed = Event.create(stream.device(), true);
                    Tensor tensor = Tensor.allocate(stream.device(), DataType.INT32, 1)) {
                while (!done.get()) {
                    plain.record(stream);
                    timed.record(stream);
                    tensor.copyFrom(new int[] {1});
                    plain.query();
                }
            }
        }
    }

    /** The mock ends the process of whoever does. */
    @Test
    void noCallComesBetweenAnOperationAndItsFlush() throws Exception {
        String output = ChildJvm.outputOf(TwoThreads.class, Map.of("MOCK_SCCL_CALL_US", "2000"));
        assertThat(output).contains("rank 0 is through", "rank 1 is through");
    }

    /** The watchdog asks for positions too, and must not wait for a call that never returns. */
    @Test
    void aPositionIsKnownWhileACallLasts() throws Exception {
        World.run(
                1,
                (group, device) -> {
                    TpuQueue queue = another(device).queue(0);
                    queue.thread.run(
                            () -> {
                                queue.push();
                                assertThat(inAnotherThread(queue::position)).isEqualTo(1);
                                assertThat(inAnotherThread(queue::position)).isEqualTo(1);
                                assertThat(inAnotherThread(() -> queue.reached(1))).isFalse();
                                queue.end();
                            });
                    queue.await(1);
                    assertThat(queue.position()).isEqualTo(1);
                });
    }

    /** The first caller's events are passed by the time that the second one's are. */
    @Test
    void eventsForTimingKeepTheOrderOfPositions() throws Exception {
        World.run(
                1,
                (group, device) -> {
                    TpuQueue queue = another(device).queue(0);
                    TpuEvent event = new TpuEvent(true);
                    queue.stamp(event);
                    assertThat(queue.position()).isEqualTo(1);
                    queue.dropStamp(event);
                    assertThat(queue.position()).isEqualTo(2);
                    queue.await(2);
                });
    }

    /** A device of its own, with another stream. The mock takes any file of kernels. */
    private static TpuDevice another(Device device) {
        return new TpuDevice(
                device.index(),
                KernelModule.ofFile(Path.of("pom.xml")),
                () -> TpuErrors.checkRuntime(Tpurt.tpuSetDevice(device.index()), "tpuSetDevice"));
    }

    private static <T> T inAnotherThread(Supplier<T> call) {
        return CompletableFuture.supplyAsync(call, task -> new Thread(task).start()).join();
    }
}
