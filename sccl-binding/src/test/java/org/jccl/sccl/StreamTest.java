package org.jccl.sccl;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;
import java.util.concurrent.CompletableFuture;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.Event;
import org.jccl.ReduceOp;
import org.jccl.Stream;
import org.jccl.Tensor;
import org.jccl.Work;
import org.junit.jupiter.api.Test;

/** Streams and events of a TPU, and streams of another library. */
final class StreamTest {

    /** Another library's stream. No thread that may end sets a device. */
    static long nativeStream(Device device) {
        return ScclLibraries.get()
                .runtime()
                .device(device.index())
                .thread
                .get(StreamTest::nativeStream);
    }

    private static long nativeStream() {
        try (Memory stream = new Memory(Long.BYTES)) {
            TpuErrors.checkRuntime(
                    Tpurt.tpuStreamCreate(Pointer.nativeValue(stream)), "tpuStreamCreate");
            return stream.getLong(0);
        }
    }

    @Test
    @SuppressWarnings("try") // The scope is there to be closed.
    void collectivesAreOrderedWithAnotherLibrarysStream() throws Exception {
        World.run(
                2,
                (group, device) -> {
                    Stream theirs = Stream.ofHandle(device, nativeStream(device), null);
                    int count = 1 << 16;
                    try (Tensor tensor = Tensor.allocate(device, DataType.FLOAT32, count);
                            Stream.Scope scope = theirs.use()) {
                        float[] ones = new float[count];
                        for (int round = 1; round <= 5; round++) {
                            java.util.Arrays.fill(ones, round);
                            tensor.copyFrom(ones);
                            Work work = group.allReduce(tensor, ReduceOp.SUM);
                            work.await();
                            group.sync().allReduce(tensor, ReduceOp.SUM);
                            assertThat(tensor.copyTo(new float[count])[count - 1])
                                    .isEqualTo(4 * round);
                        }
                        while (!theirs.query()) {
                            Thread.onSpinWait();
                        }
                    }
                });
    }

    @Test
    void eventsTellWhenAndHowLong() throws Exception {
        World.run(
                1,
                (group, device) -> {
                    Stream stream = Stream.current(device);
                    try (Event start = Event.create(device, true);
                            Event end = Event.create(device, true);
                            Event plain = Event.create(device, false);
                            Tensor tensor = Tensor.allocate(device, DataType.FLOAT32, 1 << 20)) {
                        assertThat(plain.query()).isTrue();
                        for (int round = 0; round < 3; round++) {
                            start.record(stream);
                            tensor.copyFrom(new float[1 << 20]);
                            end.record(stream);
                            plain.record(stream);
                            plain.synchronize();
                            end.synchronize();
                            assertThat(plain.query()).isTrue();
                            assertThat(start.query()).isTrue();
                            assertThat(start.elapsed(end)).isPositive();
                        }
                        stream.waitEvent(end);
                        stream.synchronize();
                        assertThat(stream.query()).isTrue();
                    }
                });
    }

    @Test
    void aWorkCanBeAskedByAThreadThatNeverChoseADevice() throws Exception {
        World.run(
                2,
                (group, device) -> {
                    try (Tensor tensor = Tensor.allocate(device, DataType.FLOAT32, 1)) {
                        Work work = group.allReduce(tensor, ReduceOp.SUM);
                        CompletableFuture<Void> other = new CompletableFuture<>();
                        Thread thread =
                                new Thread(
                                        () -> {
                                            try {
                                                work.synchronize();
                                                other.complete(null);
                                            } catch (RuntimeException e) {
                                                other.completeExceptionally(e);
                                            }
                                        });
                        thread.start();
                        other.get();
                        assertThat(work.exception()).isEmpty();
                    }
                });
    }

    @Test
    void moreWorksThanTheQueueHasPlacesForComplete() throws Exception {
        World.run(
                2,
                (group, device) -> {
                    try (Tensor tensor = Tensor.allocate(device, DataType.INT32, 1)) {
                        tensor.copyFrom(new int[] {0});
                        Work last = null;
                        for (int i = 0; i < 500; i++) {
                            last = group.allReduce(tensor, ReduceOp.SUM);
                        }
                        last.synchronize();
                        assertThat(tensor.copyTo(new int[1])).containsExactly(0);
                    }
                });
    }
}
