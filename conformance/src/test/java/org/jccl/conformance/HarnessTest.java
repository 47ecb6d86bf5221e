package org.jccl.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.reflect.Method;
import java.time.Duration;
import org.jccl.DataType;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Store;
import org.jccl.Tensor;
import org.jccl.TestGroups;
import org.jccl.conformance.inmemory.InMemoryProvider;
import org.junit.jupiter.api.Test;

/** The suite's own tools report what they find. */
class HarnessTest {

    private final InMemoryProvider provider = new InMemoryProvider(false);
    private final ConformanceBackend backend =
            (store, rank, size, timeout) -> TestGroups.world(provider, store, rank, size, timeout);

    private static void failOnOne(Rank rank) {
        if (rank.rank() == 1) {
            throw new IllegalStateException("mine");
        }
        rank.group().sync().barrier();
    }

    private static void expectTooMuch(Rank rank) {
        Tensor tensor = rank.floats(1, 2);
        rank.group().sync().allReduce(tensor, ReduceOp.SUM);
        rank.expect(tensor, new long[] {2, 5}, "sum");
    }

    @Test
    void aRankThatFailsStopsTheOthersAndIsReported() {
        assertThatThrownBy(() -> backend.ranks().run(3, HarnessTest::failOnOne))
                .isInstanceOf(AssertionError.class)
                .hasRootCauseMessage("mine");
    }

    @Test
    void whatABackendLacksIsNotAskedFor() throws Exception {
        ConformanceBackend untagged =
                new ConformanceBackend() {
                    @Override
                    public ProcessGroup join(Store store, int rank, int size, Duration timeout) {
                        throw new AssertionError("is not asked to join");
                    }

                    @Override
                    public boolean has(Capability capability) {
                        return capability != Capability.TAGS;
                    }
                };
        Method tags = PointToPointCases.class.getDeclaredMethod("tagsKeepMessagesApartInAnyOrder");
        Method batch = PointToPointCases.class.getDeclaredMethod("aBatchTakesCollectivesToo");
        assertThat(Cases.missing(tags, untagged)).contains(Capability.TAGS);
        assertThat(Cases.missing(tags, backend)).isEmpty();
        assertThat(Cases.missing(batch, untagged)).isEmpty();
    }

    @Test
    void wrongElementsAreReported() {
        assertThatThrownBy(() -> backend.ranks().run(2, HarnessTest::expectTooMuch))
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining("first wrong element 1");
    }

    @Test
    void halvesAreEncodedAsTheStandardsSay() {
        double tiny = Math.scalb(1.0, -24);
        double[] halves = {0, 1, -2, 65504, 65520, tiny, 1 + Math.scalb(1.0, -10), 2049};
        byte[] encoded = Elements.encode(DataType.FLOAT16, halves);
        assertThat(bits(encoded))
                .containsExactly(0, 0x3c00, 0xc000, 0x7bff, 0x7c00, 1, 0x3c01, 0x6800);
        halves[4] = Double.POSITIVE_INFINITY;
        halves[7] = 2048;
        assertThat(Elements.decode(DataType.FLOAT16, encoded)).containsExactly(halves);
    }

    @Test
    void bfloat16IsTheRoundedUpperHalfOfAFloat() {
        byte[] encoded =
                Elements.encode(DataType.BFLOAT16, new double[] {0, 1, -2, 256, 257, 259, 3.5});
        assertThat(bits(encoded))
                .containsExactly(0, 0x3f80, 0xc000, 0x4380, 0x4380, 0x4382, 0x4060);
        assertThat(Elements.decode(DataType.BFLOAT16, encoded))
                .containsExactly(0, 1, -2, 256, 256, 260, 3.5);
    }

    private static int[] bits(byte[] elements) {
        double[] values = Elements.decode(DataType.INT16, elements);
        int[] bits = new int[values.length];
        for (int i = 0; i < bits.length; i++) {
            bits[i] = (int) values[i] & 0xffff;
        }
        return bits;
    }
}
