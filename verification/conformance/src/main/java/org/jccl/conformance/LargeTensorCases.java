package org.jccl.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import java.util.stream.LongStream;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * Tensors of more elements than an {@code int} counts. A few elements around the borders of what
 * libraries count with tell whether all of a tensor came, and came to the right place. They take up
 * to 13 GB and minutes, and so are asked for.
 */
@Needs(Capability.LARGE_TENSORS)
@Execution(ExecutionMode.SAME_THREAD)
abstract class LargeTensorCases extends Cases {

    private static final int RANKS = 2;
    private static final Duration TIMEOUT = Ranks.onThisHost(60);
    private static final long PART = (1L << 30) + 6_789;
    private static final long FEW = 500;
    private static final long WHOLE = RANKS * PART;

    @BeforeEach
    void skipUnlessAskedFor() {
        Assumptions.assumeTrue(
                "1".equals(System.getenv("JCCL_TEST_LARGE")),
                "takes 13 GB of memory: JCCL_TEST_LARGE=1 asks for it");
    }

    private static long[] places(long count) {
        return LongStream.of(0, 1L << 29, (1L << 30) - 1, 1L << 30, (1L << 31) - 1, 1L << 31)
                .filter(place -> place < count - 1)
                .toArray();
    }

    private static Tensor zeros(Rank rank, long count) {
        Device device = rank.backend().allocate(DataType.INT8, 1).device();
        Tensor tensor = Tensor.allocate(device, DataType.INT8, count);
        set(rank, tensor, 0);
        return tensor;
    }

    /** Writes a value and those after it to the places, and the last to the end. */
    private static void set(Rank rank, Tensor tensor, int value) {
        byte[] next = {(byte) value};
        for (long place : places(tensor.count())) {
            rank.backend().write(tensor.slice(place, 1), next);
            next[0]++;
        }
        rank.backend().write(tensor.slice(tensor.count() - 1, 1), next);
    }

    private static void expect(Rank rank, Tensor tensor, int value, int step, String what) {
        int next = value;
        for (long place : places(tensor.count())) {
            expectAt(rank, tensor, place, next, what);
            next += step;
        }
        expectAt(rank, tensor, tensor.count() - 1, next, what);
    }

    private static void expectAt(Rank rank, Tensor tensor, long place, int value, String what) {
        assertThat(rank.backend().read(tensor.slice(place, 1))[0])
                .as("rank %d: element %d of %s", rank.rank(), place, what)
                .isEqualTo((byte) value);
    }

    @Test
    void broadcastsAndReduces() {
        backend()
                .ranks()
                .run(
                        RANKS,
                        TIMEOUT,
                        rank -> {
                            try (Tensor tensor = zeros(rank, WHOLE)) {
                                set(rank, tensor, rank.rank() == 1 ? 11 : 51);
                                rank.group().broadcast(tensor, 1).await();
                                expect(rank, tensor, 11, 1, "a broadcast");
                                rank.group().allReduce(tensor, ReduceOp.SUM).await();
                                expect(rank, tensor, 22, 2, "an all_reduce");
                                rank.group().reduce(tensor, 0, ReduceOp.SUM).await();
                                if (rank.rank() == 0) {
                                    expect(rank, tensor, 44, 4, "a reduce");
                                }
                            }
                        });
    }

    @Test
    @Needs(Capability.MESSAGES)
    void sendsAndReceives() {
        backend()
                .ranks()
                .run(
                        RANKS,
                        TIMEOUT,
                        rank -> {
                            try (Tensor tensor = zeros(rank, WHOLE)) {
                                if (rank.rank() == 0) {
                                    set(rank, tensor, 21);
                                    rank.group().send(tensor, 1, 0).await();
                                } else {
                                    rank.group().recv(tensor, 0, 0).await();
                                    expect(rank, tensor, 21, 1, "a message");
                                }
                            }
                        });
    }

    @Test
    void gathersAndScatters() {
        backend()
                .ranks()
                .run(
                        RANKS,
                        TIMEOUT,
                        rank -> {
                            try (Tensor part = zeros(rank, PART);
                                    Tensor whole = zeros(rank, WHOLE)) {
                                List<Tensor> parts =
                                        List.of(whole.slice(0, PART), whole.slice(PART, PART));
                                set(rank, part, 31 + 40 * rank.rank());
                                rank.group().allGatherSingle(whole, part).await();
                                expect(rank, parts.get(0), 31, 1, "an all_gather from rank 0");
                                expect(rank, parts.get(1), 71, 1, "an all_gather from rank 1");

                                rank.group().reduceScatterSingle(part, whole, ReduceOp.SUM).await();
                                int sum = rank.rank() == 0 ? 62 : 142;
                                expect(rank, part, sum, 2, "a reduce_scatter");

                                rank.group()
                                        .gather(rank.rank() == 0 ? parts : List.of(), part, 0)
                                        .await();
                                if (rank.rank() == 0) {
                                    expect(rank, parts.get(0), 62, 2, "a gather from rank 0");
                                    expect(rank, parts.get(1), 142, 2, "a gather from rank 1");
                                }

                                set(rank, parts.get(0), 5);
                                set(rank, parts.get(1), 95);
                                rank.group()
                                        .scatter(part, rank.rank() == 0 ? parts : List.of(), 0)
                                        .await();
                                expect(rank, part, rank.rank() == 0 ? 5 : 95, 1, "a scatter");
                            }
                        });
    }

    @Test
    void exchangesParts() {
        backend()
                .ranks()
                .run(
                        RANKS,
                        TIMEOUT,
                        rank -> {
                            long mine = rank.rank() == 0 ? PART : FEW;
                            try (Tensor input = zeros(rank, PART + FEW);
                                    Tensor output = zeros(rank, 2 * mine)) {
                                set(rank, input.slice(0, PART), 31 + 40 * rank.rank());
                                set(rank, input.slice(PART, FEW), 61 + 40 * rank.rank());
                                long[] outputs = {mine, mine};
                                long[] inputs = {PART, FEW};
                                rank.group().allToAllSingle(output, input, outputs, inputs).await();
                                int sent = rank.rank() == 0 ? 31 : 61;
                                expect(
                                        rank,
                                        output.slice(0, mine),
                                        sent,
                                        1,
                                        "an all_to_all from rank 0");
                                expect(
                                        rank,
                                        output.slice(mine, mine),
                                        sent + 40,
                                        1,
                                        "an all_to_all from rank 1");
                            }
                        });
    }
}
