package org.jccl.gloo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.jccl.testing.Patience.enough;

import java.time.Duration;
import java.util.List;
import org.jccl.GroupAbortedException;
import org.jccl.MismatchException;
import org.jccl.OperationTimeoutException;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.conformance.ConformanceBackend;
import org.jccl.conformance.Rank;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Groups in which a rank exchanges messages with a few others only. Rank 4 of 5 exchanges with rank
 * 0 alone, which takes part for it.
 */
@Tag("all")
final class DoublingFailureTest {

    private static final int SIZE = 5;

    private static ConformanceBackend within(Duration timeout) {
        return (store, rank, size, ignored) ->
                ConformanceBackend.named("gloo").join(store, rank, size, timeout);
    }

    private static void sum(Rank rank, int count) {
        rank.group().sync().allReduce(Tensor.copyOf(new float[count]), ReduceOp.SUM);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 3, 4})
    void allRanksLearnWhoDisagrees(int other) {
        within(enough(Duration.ofSeconds(60)))
                .ranks()
                .run(
                        SIZE,
                        rank -> {
                            sum(rank, 4);
                            Throwable thrown =
                                    catchThrowable(
                                            () ->
                                                    sum(
                                                            rank,
                                                            rank.group().rank() == other
                                                                    ? 2000
                                                                    : 1000));
                            assertThat(thrown)
                                    .isInstanceOf(MismatchException.class)
                                    .hasMessageContaining("float32 x 2000")
                                    .hasMessageContaining("float32 x 1000")
                                    .hasMessageContaining("rank " + other);
                        });
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 3, 4})
    void allRanksLearnWhoHasNotCome(int late) {
        within(enough(Duration.ofSeconds(3)))
                .ranks()
                .run(
                        SIZE,
                        rank -> {
                            sum(rank, 4);
                            if (rank.group().rank() == late) {
                                for (int other = 0; other < SIZE; other++) {
                                    if (other != late) {
                                        rank.store()
                                                .await(
                                                        List.of("failed/" + other),
                                                        enough(Duration.ofSeconds(30)));
                                    }
                                }
                                return;
                            }
                            Throwable thrown = catchThrowable(() -> sum(rank, 4));
                            rank.store().set("failed/" + rank.group().rank(), new byte[1]);
                            assertThat(thrown)
                                    .isInstanceOf(OperationTimeoutException.class)
                                    .hasMessageContaining("rank " + late);
                        });
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 3, 4})
    void allRanksLearnWhoHasAborted(int leaving) {
        within(enough(Duration.ofSeconds(60)))
                .ranks()
                .run(
                        SIZE,
                        rank -> {
                            sum(rank, 4);
                            if (rank.group().rank() == leaving) {
                                rank.group().abort();
                                return;
                            }
                            Throwable thrown =
                                    catchThrowable(
                                            () -> {
                                                sum(rank, 4);
                                                rank.group().sync().barrier();
                                            });
                            assertThat(thrown)
                                    .isInstanceOf(GroupAbortedException.class)
                                    .hasMessageContaining(
                                            "rank " + leaving + " reported: abort() was called");
                        });
    }
}
