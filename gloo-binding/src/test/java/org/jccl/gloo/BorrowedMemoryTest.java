package org.jccl.gloo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.jccl.testing.Patience.enough;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.jccl.DataType;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Store;
import org.jccl.SyncCollectives;
import org.jccl.Tensor;
import org.jccl.UsageException;
import org.jccl.store.HashStore;
import org.junit.jupiter.api.Test;

/** Operations on segments of {@code java.lang.foreign}, by reflection, and on arrays. */
class BorrowedMemoryTest {

    private final Store store = HashStore.create(enough(Duration.ofSeconds(30)));

    private ProcessGroup join(int rank, int size) {
        return ProcessGroup.builder()
                .backend("gloo")
                .store(store)
                .rank(rank)
                .worldSize(size)
                .build();
    }

    @Test
    void arraysAreReducedAndBroadcast() throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(2);
        List<Future<?>> ranks = new ArrayList<>();
        for (int rank = 0; rank < 2; rank++) {
            int mine = rank;
            ranks.add(threads.submit(() -> checkArrays(mine)));
        }
        threads.shutdown();
        for (Future<?> rank : ranks) {
            rank.get();
        }
    }

    private void checkArrays(int rank) {
        try (ProcessGroup group = join(rank, 2)) {
            SyncCollectives sync = group.sync();
            float[] floats = {rank + 1, 10};
            sync.allReduce(floats, ReduceOp.SUM);
            assertThat(floats).containsExactly(3, 20);
            double[] doubles = {rank, -rank};
            sync.allReduce(doubles, ReduceOp.MAX);
            assertThat(doubles).containsExactly(1, 0);
            long[] longs = {1L << 40};
            sync.allReduce(longs, ReduceOp.SUM);
            assertThat(longs).containsExactly(1L << 41);
            byte[] bytes = new byte[3];
            Arrays.fill(bytes, (byte) (rank + 5));
            sync.broadcast(bytes, 1);
            assertThat(bytes).containsExactly(6, 6, 6);
        }
    }

    @Test
    void aClosedArenaIsRefusedAndTheGroupGoesOn() throws ReflectiveOperationException {
        assumeTrue(Runtime.version().feature() >= 22, "needs Java 22");
        Class<?> arenas = Class.forName("java.lang.foreign.Arena");
        Object arena = arenas.getMethod("ofShared").invoke(null);
        Object segment =
                arenas.getMethod("allocate", long.class, long.class).invoke(arena, 16L, 64L);
        try (ProcessGroup group = join(0, 1)) {
            Tensor tensor = Tensor.ofSegment(segment, DataType.FLOAT32);
            tensor.copyFrom(new float[] {1, 2, 3, 4});
            group.sync().allReduce(tensor, ReduceOp.SUM);
            assertThat(tensor.copyTo(new float[4])).containsExactly(1, 2, 3, 4);
            arenas.getMethod("close").invoke(arena);
            assertThatThrownBy(() -> group.sync().allReduce(tensor, ReduceOp.SUM))
                    .isInstanceOf(UsageException.class)
                    .hasMessageContaining("closed");
            assertThatThrownBy(() -> group.allReduce(tensor.slice(0, 2), ReduceOp.SUM))
                    .isInstanceOf(UsageException.class)
                    .hasMessageContaining("closed");
            group.sync().barrier();
        }
    }
}
