package org.jccl.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.jccl.testing.Patience.enough;
import static org.jccl.testing.Patience.expires;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.jccl.Device;
import org.jccl.GroupAbortedException;
import org.jccl.JcclException;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Store;
import org.jccl.Tensor;
import org.jccl.UsageException;
import org.jccl.gloo.GlooOptions;
import org.jccl.store.HashStore;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Votes and state in a world that loses nobody; {@link CommitJobTest} kills ranks. */
@Timeout(120)
final class CommitTest {

    /** Adds 1 to each weight. */
    private static final class Counter implements Replica {
        private final Tensor weights;
        private String other;

        Counter(String other, float... weights) {
            this(other, TestRanks.floats(weights));
        }

        Counter(String other, Tensor weights) {
            this.weights = weights;
            this.other = other;
        }

        @Override
        public List<Tensor> tensors() {
            return List.of(weights);
        }

        @Override
        public byte[] other() {
            return other.getBytes(StandardCharsets.UTF_8);
        }

        @Override
        public void restore(byte[] bytes) {
            other = new String(bytes, StandardCharsets.UTF_8);
        }

        @Override
        public void apply() {
            float[] values = TestRanks.values(weights);
            for (int i = 0; i < values.length; i++) {
                values[i]++;
            }
            weights.copyFrom(values);
        }
    }

    @Test
    void newRanksGetTheStateOfRankZero() {
        TestRanks.onCpu(
                3,
                group -> {
                    boolean first = group.rank() == 0;
                    Counter counter = first ? new Counter("from 0", 5, 6) : new Counter("", 0, 0);
                    Commit commit = new Commit(counter, first ? 7 : 0);
                    commit.enter(group);
                    assertThat(commit.steps()).isEqualTo(7);
                    assertThat(TestRanks.values(counter.weights)).containsExactly(5, 6);
                    assertThat(counter.other).isEqualTo("from 0");
                });
    }

    @Test
    void aStepIsMadeIfAllVoteForIt() {
        Store store = HashStore.create(enough(Duration.ofSeconds(60)));
        List<CompletableFuture<Void>> ranks =
                IntStream.range(0, 2)
                        .mapToObj(
                                rank ->
                                        CompletableFuture.runAsync(
                                                () -> makeThreeSteps(store, rank),
                                                task -> new Thread(task).start()))
                        .toList();
        ranks.forEach(CompletableFuture::join);
    }

    private static void makeThreeSteps(Store store, int rank) {
        Counter counter = new Counter("", 1);
        Commit commit = new Commit(counter);
        assertThatThrownBy(() -> commit.vote(true))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("enter the generation");
        commit.run(
                ProcessGroup.builder()
                        .backend("gloo")
                        .store(store)
                        .rank(rank)
                        .worldSize(2)
                        .options(GlooOptions.onHost("127.0.0.1"))
                        .reconfigurable(2),
                3,
                enough(Duration.ofSeconds(30)),
                votes(rank));
        assertThat(commit.steps()).isEqualTo(3);
        assertThat(TestRanks.values(counter.weights)).containsExactly(4);
    }

    /** Rank 1 votes against every second call. */
    private static Commit.Step votes(int rank) {
        AtomicInteger calls = new AtomicInteger();
        return (group, step) -> {
            int call = calls.getAndIncrement();
            assertThat(step).isEqualTo((call + 1) / 2);
            return rank == 0 || call % 2 == 0;
        };
    }

    /** On a device a collective is only enqueued when its call returns. */
    @Test
    void aStepWhoseAveragesFailOnADeviceIsNotMade() {
        Store store = HashStore.create(enough(Duration.ofSeconds(60)));
        CompletableFuture<ProcessGroup> lost =
                CompletableFuture.supplyAsync(
                        () -> {
                            ProcessGroup group = onDevice(store, 1);
                            Tensor weights = TestRanks.tensor(new Device("cuda", 1), 0);
                            new Commit(new Counter("", weights)).enter(group);
                            return group;
                        },
                        task -> new Thread(task).start());
        Device device = new Device("cuda", 0);
        try (ProcessGroup group = onDevice(store, 0);
                Tensor weights = TestRanks.tensor(device, 5);
                Tensor gradients = TestRanks.tensor(device, 1)) {
            Commit commit = new Commit(new Counter("", weights));
            commit.enter(group);
            ProcessGroup other = lost.join();
            group.sync().allReduce(gradients, ReduceOp.AVG);
            new Thread(group::abort).start();
            assertThatThrownBy(() -> commit.vote(true)).isInstanceOf(GroupAbortedException.class);
            try (ProcessGroup alone = group.reconfigure(expires(Duration.ofSeconds(1)))) {
                commit.enter(alone);
                assertThat(commit.steps()).isZero();
                assertThat(TestRanks.values(weights)).containsExactly(5);
            }
            other.abort();
            other.close();
        }
    }

    private static ProcessGroup onDevice(Store store, int rank) {
        return ProcessGroup.builder()
                .backend("nccl")
                .store(store)
                .rank(rank)
                .worldSize(2)
                .device(new Device("cuda", rank))
                .reconfigurable(1)
                .build();
    }

    @Test
    void ranksWithOtherTensorsAreTold() {
        TestRanks.onCpu(
                2,
                group -> {
                    boolean first = group.rank() == 0;
                    Commit commit =
                            new Commit(first ? new Counter("", 1, 2) : new Counter("", 1, 2, 3));
                    if (first) {
                        // Completes if the message is short, or fails when the other rank leaves.
                        try {
                            commit.enter(group);
                        } catch (JcclException e) {
                            assertThat(e).isNotInstanceOf(UsageException.class);
                        }
                        return;
                    }
                    assertThatThrownBy(() -> commit.enter(group))
                            .isInstanceOf(UsageException.class)
                            .hasMessageContaining("other tensors on this rank than on rank 0")
                            .hasMessageContaining("float32 x 3");
                    group.abort();
                });
    }

    @Test
    void aGenerationIsEnteredOnce() {
        TestRanks.onCpu(
                1,
                group -> {
                    Commit commit = new Commit(new Counter("", 1));
                    commit.enter(group);
                    assertThatThrownBy(() -> commit.enter(group))
                            .isInstanceOf(UsageException.class)
                            .hasMessageContaining("enter each generation once");
                });
    }
}
