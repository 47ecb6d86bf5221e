package org.jccl.sccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.jccl.testing.Patience.enough;
import static org.jccl.testing.Patience.expires;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jccl.DataType;
import org.jccl.Event;
import org.jccl.GroupAbortedException;
import org.jccl.ReduceOp;
import org.jccl.Stream;
import org.jccl.Tensor;
import org.jccl.UsageException;
import org.jccl.testing.ChildJvm;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * Which threads call the libraries, and what the runtime of November 2024 does not forgive. In the
 * mock, as in that runtime, a device is lost when a thread that has set it ends.
 *
 * <p>In C: {@code tpuInit(); tpuSetDevice(0); tpuMalloc(&memory, 8);} on one thread, {@code
 * tpuSetDevice(0)} on another that ends, then {@code tpuFree(memory)} on the first ends the
 * process. See "end of a thread" in native/mock/test/sccl.cc.
 */
@Execution(ExecutionMode.CONCURRENT)
final class DeviceThreadTest {

    /** Reduces on a thread of each rank that ends, and then on the rank's own thread. */
    static final class EndingThreads {

        private EndingThreads() {}

        public static void main(String[] arguments) {
            World.run(
                    2,
                    (group, device) -> {
                        try (Tensor tensor = Tensor.allocate(device, DataType.FLOAT32, 1)) {
                            tensor.copyFrom(new float[] {1});
                            for (int round = 0; round < 3; round++) {
                                Thread user =
                                        new Thread(
                                                () -> {
                                                    group.sync().allReduce(tensor, ReduceOp.SUM);
                                                    group.allReduce(tensor, ReduceOp.SUM)
                                                            .synchronize();
                                                });
                                user.start();
                                user.join();
                                group.allReduce(tensor, ReduceOp.SUM).synchronize();
                            }
                            System.out.println("sum " + tensor.copyTo(new float[1])[0]);
                        }
                    });
        }
    }

    @Test
    void aThreadThatReducesAndEndsIsHarmless() throws Exception {
        assertThat(ChildJvm.outputOf(EndingThreads.class, Map.of()))
                .containsPattern("(?s)sum 512.0.*sum 512.0");
    }

    /** Records many events for timing behind an operation for which the other rank comes late. */
    static final class ManyEvents {

        private static final int EVENTS = 450;

        private ManyEvents() {}

        public static void main(String[] arguments) {
            CountDownLatch recorded = new CountDownLatch(1);
            World.run(
                    2,
                    (group, device) -> {
                        try (Tensor tensor = Tensor.allocate(device, DataType.FLOAT32, 1)) {
                            tensor.copyFrom(new float[] {1});
                            if (group.rank() == 1) {
                                // Not without a limit: who records waits for this rank after some.
                                recorded.await(1, TimeUnit.SECONDS);
                            }
                            group.allReduce(tensor, ReduceOp.SUM);
                            if (group.rank() == 0) {
                                for (int i = 0; i < EVENTS; i++) {
                                    Event.create(device, true).record(Stream.current(device));
                                }
                                recorded.countDown();
                            }
                            System.out.println("sum " + tensor.copyTo(new float[1])[0]);
                        }
                    });
            Runtime.getRuntime().halt(0);
        }
    }

    @Test
    void noMoreEventsArePendingThanTheRuntimeTakes() throws Exception {
        assertThat(ChildJvm.outputOf(ManyEvents.class, Map.of("MOCK_TPU_BARE_EVENTS", "400")))
                .containsPattern("(?s)sum 2.0.*sum 2.0");
    }

    private static TpuDevice device() {
        assertThat(ScclLibraries.get().availability().isAvailable()).isTrue();
        return ScclLibraries.get().runtime().device(0);
    }

    /** The runtime would hang, or never pass the event behind the call. */
    @Test
    void addressesAreCheckedBeforeTheCall() {
        TpuDevice device = device();
        TpuMemory memory = device.memory;
        device.thread.run(
                () -> {
                    long address = memory.allocate(100);
                    long another = memory.allocate(100);
                    memory.check(address, 100);
                    memory.check(address + 40, 60);
                    memory.check(another, 1);
                    for (long bytes : List.of(101L, 1L << 58, -1L)) {
                        assertThatThrownBy(() -> memory.check(address, bytes))
                                .isInstanceOf(UsageException.class)
                                .hasMessageContaining("tpu:0: a call would use " + bytes);
                    }
                    assertThatThrownBy(() -> memory.check(address + 40, 61))
                            .hasMessageContaining("has 100 bytes");
                    assertThatThrownBy(() -> memory.check(0, 1))
                            .hasMessageContaining("which is no memory of a device");
                    memory.free(address);
                    memory.free(another);
                    // Nothing is known of memory of another library.
                    memory.check(address, 101);
                });
    }

    /** A device of its own with memory of 300 MB. */
    static final class Growing {

        private static final long MEGABYTE = 1 << 20;

        private Growing() {}

        public static void main(String[] arguments) {
            TpuDevice device = device();
            TpuRuntime runtime = ScclLibraries.get().runtime();
            TpuQueue queue = device.queue(0);
            Scratch scratch = new Scratch(runtime);
            for (long megabytes : List.of(70, 75, 145)) {
                device.thread.run(
                        () -> {
                            scratch.reserve(queue, megabytes * MEGABYTE);
                            queue.push();
                            queue.end();
                        });
                queue.await(queue.position());
            }
            System.out.println("enough");
            Runtime.getRuntime().halt(0);
        }
    }

    /** Rounded up to a power, or kept until the end, they are more than the device has. */
    @Test
    void scratchMemoryGrowsByWhatIsNeededAndIsFreed() throws Exception {
        assertThat(ChildJvm.outputOf(Growing.class, Map.of("MOCK_MEMORY_MB", "300")))
                .contains("enough");
    }

    @Test
    @Tag("all")
    void noThreadWaitsForACallThatNeverReturns() throws Exception {
        DeviceThread thread = new DeviceThread(0, () -> {}, () -> {});
        CountDownLatch inside = new CountDownLatch(1);
        CountDownLatch never = new CountDownLatch(1);
        Thread stuck = new Thread(() -> giveUp(thread, () -> block(inside, never)));
        stuck.start();
        inside.await();
        thread.noteAbort(expires(Duration.ofMillis(20)));
        assertThatThrownBy(() -> thread.run(() -> {}))
                .isInstanceOf(GroupAbortedException.class)
                .hasMessageContaining("tpu:0 is blocked by a call of an aborted group");
        never.countDown();
        long end = System.nanoTime() + enough(Duration.ofSeconds(10)).toNanos();
        boolean ran = false;
        while (!ran && System.nanoTime() - end < 0) {
            // False while the call is still inside.
            ran = thread.run(() -> {}, expires(Duration.ofSeconds(1)));
        }
        assertThat(ran).isTrue();
    }

    private static void giveUp(DeviceThread thread, Runnable call) {
        try {
            thread.run(call);
        } catch (GroupAbortedException e) {
            // Unless the call returns first.
            return;
        }
    }

    private static void block(CountDownLatch inside, CountDownLatch until) {
        inside.countDown();
        try {
            until.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
