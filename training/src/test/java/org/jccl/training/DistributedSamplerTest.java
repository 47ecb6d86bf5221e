package org.jccl.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Arrays;
import java.util.TreeSet;
import java.util.stream.IntStream;
import org.jccl.UsageException;
import org.junit.jupiter.api.Test;

final class DistributedSamplerTest {

    private static DistributedSampler sampler(int samples, int ranks, int rank) {
        return new DistributedSampler(samples, ranks, rank, true, 0, false);
    }

    private static int[] ofAllRanks(DistributedSampler any, int epoch) {
        return IntStream.range(0, any.ranks())
                .mapToObj(
                        rank ->
                                new DistributedSampler(
                                        any.samples(),
                                        any.ranks(),
                                        rank,
                                        any.shuffle(),
                                        any.seed(),
                                        any.dropLast()))
                .flatMapToInt(sampler -> Arrays.stream(sampler.indices(epoch)))
                .toArray();
    }

    @Test
    void ranksTakeEachSampleOnceWhereTheyDivideThem() {
        int[] all = ofAllRanks(sampler(12, 3, 0), 5);
        assertThat(Arrays.stream(all).sorted().toArray())
                .isEqualTo(IntStream.range(0, 12).toArray());
    }

    @Test
    void someAreTakenTwiceOrLeftOutWhereTheyDoNot() {
        for (int samples = 1; samples < 20; samples++) {
            DistributedSampler padding = sampler(samples, 4, 1);
            int[] all = ofAllRanks(padding, 2);
            assertThat(all).hasSize(4 * padding.length()).hasSize((samples + 3) / 4 * 4);
            TreeSet<Integer> different = new TreeSet<>(Arrays.stream(all).boxed().toList());
            assertThat(different).hasSize(samples);
            DistributedSampler dropping = padding.droppingLast();
            all = ofAllRanks(dropping, 2);
            assertThat(all).hasSize(samples / 4 * 4).doesNotHaveDuplicates();
            assertThat(dropping.length()).isEqualTo(samples / 4);
        }
        assertThat(sampler(0, 4, 1).indices(0)).isEmpty();
    }

    @Test
    void epochsAndSeedsHaveOrdersOfTheirOwn() {
        DistributedSampler sampler = sampler(1000, 2, 1);
        assertThat(sampler.indices(3))
                .isEqualTo(sampler.indices(3))
                .isNotEqualTo(sampler.indices(4));
        assertThat(sampler.withSeed(1).indices(3)).isNotEqualTo(sampler.indices(3));
        assertThat(sampler.withSeed(0).indices(3)).isEqualTo(sampler.indices(3));
        assertThat(sampler.inOrder().indices(3)).startsWith(1, 3, 5, 7).endsWith(999);
    }

    /** Ranks on other versions of Java must come to the same order. */
    @Test
    void theOrderIsTheSameEverywhere() {
        assertThat(sampler(10, 1, 0).indices(0)).containsExactly(ORDER_OF_TEN);
    }

    private static final int[] ORDER_OF_TEN = {4, 9, 2, 5, 1, 7, 6, 0, 3, 8};

    @Test
    void everyPlaceIsEquallyLikely() {
        int[][] found = new int[5][5];
        for (int epoch = 0; epoch < 10_000; epoch++) {
            int[] order = sampler(5, 1, 0).indices(epoch);
            for (int i = 0; i < 5; i++) {
                found[i][order[i]]++;
            }
        }
        for (int[] row : found) {
            // 2000 each; the deviation is 40.
            assertThat(Arrays.stream(row).min().orElseThrow()).isGreaterThan(1800);
            assertThat(Arrays.stream(row).max().orElseThrow()).isLessThan(2200);
        }
    }

    @Test
    void wrongNumbersAreRefused() {
        assertThatThrownBy(() -> sampler(-1, 2, 0)).isInstanceOf(UsageException.class);
        assertThatThrownBy(() -> sampler(1, 0, 0)).isInstanceOf(UsageException.class);
        assertThatThrownBy(() -> sampler(1, 2, 2)).isInstanceOf(UsageException.class);
        assertThatThrownBy(() -> sampler(Integer.MAX_VALUE, 4, 2))
                .isInstanceOf(UsageException.class);
        assertThatThrownBy(() -> DistributedSampler.of(null, 3)).isInstanceOf(UsageException.class);
    }

    @Test
    void ranksThatDrawFromOtherSamplesAreNamed() {
        TestRanks.onCpu(
                2,
                group -> {
                    DistributedSampler same = DistributedSampler.of(group, 10);
                    same.requireSame(group, 4);
                    assertThatThrownBy(() -> same.requireSame(group, group.rank()))
                            .isInstanceOf(DifferentModelsException.class)
                            .hasMessageContaining("rank 0 has epoch 0, rank 1 has epoch 1");
                    DistributedSampler other = DistributedSampler.of(group, 10 + group.rank());
                    assertThatThrownBy(() -> other.requireSame(group, 0))
                            .isInstanceOf(DifferentModelsException.class)
                            .hasMessageContaining("rank 0 has 10 samples, rank 1 has 11 samples");
                    assertThatThrownBy(() -> same.withSeed(group.rank()).requireSame(group, 0))
                            .isInstanceOf(DifferentModelsException.class)
                            .hasMessageContaining("seed 0, rank 1 has an order with seed 1");
                    assertThatThrownBy(() -> sampler(10, 3, 1).requireSame(group, 0))
                            .isInstanceOf(UsageException.class)
                            .hasMessageContaining("rank 1 of 3");
                    assertThatThrownBy(() -> same.requireSame(null, 0))
                            .isInstanceOf(UsageException.class)
                            .hasMessageContaining("group is null");
                });
    }
}
