package org.jccl.gloo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.jccl.testing.Patience.enough;
import static org.jccl.testing.Patience.expires;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jccl.OperationTimeoutException;
import org.jccl.ProcessGroup;
import org.jccl.ProcessGroupBuilder;
import org.jccl.ReduceOp;
import org.jccl.Store;
import org.jccl.Tensor;
import org.jccl.UsageException;
import org.jccl.conformance.Ranks;
import org.jccl.store.HashStore;
import org.junit.jupiter.api.Test;

/** Forming a world and running an operation have a deadline each. */
class JoinTimeoutTest {

    private static final Duration SHORT = expires(Duration.ofMillis(300));
    private static final Duration LONG = enough(Duration.ofHours(1));

    private final Store store = HashStore.create(Ranks.TIMEOUT);

    private ProcessGroupBuilder world(int rank) {
        return ProcessGroup.builder()
                .backend("gloo")
                .options(GlooOptions.onHost("127.0.0.1"))
                .store(store)
                .rank(rank)
                .worldSize(2);
    }

    @Test
    void joiningEndsAtItsOwnDeadline() {
        ProcessGroupBuilder alone = world(0).joinTimeout(SHORT).timeout(LONG);
        assertThatThrownBy(alone::build)
                .isInstanceOf(OperationTimeoutException.class)
                .hasMessageContaining("ranks [1]")
                .hasMessageContaining("300 ms");
    }

    @Test
    void aRankMayJoinLaterThanAnOperationMayTake() throws Exception {
        CompletableFuture<Float> first =
                CompletableFuture.supplyAsync(() -> sum(0), task -> new Thread(task).start());
        // It waits for longer than an operation may take before the other one begins to join.
        TimeUnit.MILLISECONDS.sleep(3 * SHORT.toMillis());
        assertThat(first).isNotDone();
        assertThat(sum(1)).isEqualTo(3);
        assertThat(first.get(60, TimeUnit.SECONDS)).isEqualTo(3);
    }

    private float sum(int rank) {
        try (ProcessGroup world = world(rank).joinTimeout(Ranks.TIMEOUT).timeout(SHORT).build();
                Tensor x = Tensor.copyOf(new float[] {rank + 1})) {
            world.sync(Ranks.TIMEOUT).allReduce(x, ReduceOp.SUM);
            return x.copyTo(new float[1])[0];
        }
    }

    @Test
    void itIsCheckedAsTheOtherOne() {
        assertThatThrownBy(() -> world(0).joinTimeout(Duration.ZERO))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("join timeout must be positive and at most a day");
        assertThatThrownBy(() -> world(0).joinTimeout(null)).isInstanceOf(UsageException.class);
    }
}
