package org.jccl.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jccl.DataType;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Store;
import org.jccl.Tensor;
import org.jccl.store.HashStore;
import org.junit.jupiter.api.Test;

/** Worlds on devices whose ranks are lost and come back. */
public abstract class ReplacementTest {

    private static final int SIZE = 3;
    private static final int ROUNDS = 3;

    /** For the test class of a backend. */
    protected ReplacementTest() {}

    /**
     * The backend under test; called once a test.
     *
     * @return the backend
     */
    protected abstract DeviceBackend backend();

    @Test
    void lostRanksAreReplaced() throws Exception {
        DeviceBackend backend = backend();
        try (Store store = HashStore.create(Ranks.TIMEOUT)) {
            List<CompletableFuture<Void>> ranks = new ArrayList<>();
            for (int i = 0; i < SIZE; i++) {
                int rank = i;
                ranks.add(
                        CompletableFuture.runAsync(
                                () -> takePart(backend, store, rank),
                                task -> new Thread(task).start()));
            }
            for (CompletableFuture<Void> rank : ranks) {
                rank.get(2 * Ranks.TIMEOUT.toSeconds(), TimeUnit.SECONDS);
            }
        }
    }

    /** In each round another rank is lost, and joins again as a new process would. */
    private static void takePart(DeviceBackend backend, Store store, int rank) {
        ProcessGroup group = join(backend, store, rank);
        for (int round = 0; round < ROUNDS; round++) {
            expectSum(backend, group);
            // A rank may have its sum, and abort, before another one has.
            store.barrier("round " + round, SIZE, Ranks.TIMEOUT);
            ProcessGroup next;
            if (round == rank) {
                group.abort();
                group.close();
                next = join(backend, store, rank);
            } else {
                next = group.reconfigure(Ranks.TIMEOUT);
                assertThat(next.generation()).isGreaterThan(group.generation());
                group.close();
            }
            group = next;
        }
        expectSum(backend, group);
        group.close();
    }

    private static ProcessGroup join(DeviceBackend backend, Store store, int rank) {
        return backend.builder(store, rank, SIZE, Ranks.TIMEOUT).reconfigurable(2).build();
    }

    private static void expectSum(DeviceBackend backend, ProcessGroup group) {
        assertThat(group.size()).isEqualTo(SIZE);
        try (Tensor sum = backend.allocate(DataType.INT64, 1)) {
            sum.copyFrom(new long[] {1L << group.rank()});
            group.allReduce(sum, ReduceOp.SUM).synchronize();
            assertThat(sum.copyTo(new long[1])).containsExactly((1L << SIZE) - 1);
        }
    }
}
