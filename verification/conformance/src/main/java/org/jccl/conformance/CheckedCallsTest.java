package org.jccl.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.jccl.DataType;
import org.jccl.GroupAbortedException;
import org.jccl.MismatchException;
import org.jccl.OperationTimeoutException;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.UsageException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Worlds that compare each collective before the library sees it: also libraries that would return
 * wrong numbers name both sides on every rank, and leave the tensors as they were.
 */
@Tag("checked-calls")
public abstract class CheckedCallsTest {

    private static final int SIZE = 3;
    private static final Duration SHORT = Ranks.onThisHost(3);

    /** For the test class of a backend. */
    protected CheckedCallsTest() {}

    /**
     * The backend under test, whose worlds check calls; called once a test.
     *
     * @return the backend
     */
    protected abstract ConformanceBackend backend();

    static List<String> collectives() {
        return MismatchCases.collectivePairs();
    }

    @ParameterizedTest
    @MethodSource("collectives")
    void everyRankLearnsOfADifference(String what) {
        backend()
                .ranks()
                .run(
                        SIZE,
                        rank -> {
                            Forms form = Forms.of(rank.group()).get(rank.rank() % 2);
                            form.barrier();
                            Throwable thrown =
                                    catchThrowable(() -> MismatchCases.call(what, rank, form));
                            assertThat(thrown)
                                    .isInstanceOf(MismatchException.class)
                                    .hasMessageContaining("rank " + rank.rank() + " has ")
                                    .hasMessageMatching(MismatchCases.BOTH_SIDES)
                                    .hasMessageContaining("as operation 1;");
                            assertThat(catchThrowable(form::barrier))
                                    .isInstanceOf(GroupAbortedException.class);
                        });
    }

    @Test
    void tensorsOfADifferenceStayAsTheyWere() {
        backend()
                .ranks()
                .run(
                        2,
                        rank -> {
                            Tensor tensor = rank.filled(4 + rank.rank(), 7);
                            assertThat(
                                            catchThrowable(
                                                    () ->
                                                            rank.group()
                                                                    .allReduce(tensor, ReduceOp.SUM)
                                                                    .await()))
                                    .isInstanceOf(MismatchException.class);
                            rank.expect(
                                    tensor,
                                    IntStream.range(0, 4 + rank.rank()).mapToLong(i -> 7).toArray(),
                                    "untouched");
                        });
    }

    @Test
    void splitsMustFitTogether() {
        backend()
                .ranks()
                .run(
                        2,
                        rank -> {
                            boolean first = rank.rank() == 0;
                            Tensor tensor = rank.filled(4, 1);
                            Tensor output = rank.filled(first ? 0 : 2, 0);
                            assertThat(
                                            catchThrowable(
                                                    () ->
                                                            rank.group()
                                                                    .allToAllSingle(
                                                                            output,
                                                                            tensor.slice(
                                                                                    0,
                                                                                    first ? 4 : 0),
                                                                            first
                                                                                    ? new long[] {
                                                                                        0, 0
                                                                                    }
                                                                                    : new long[] {
                                                                                        2, 0
                                                                                    },
                                                                            first
                                                                                    ? new long[] {
                                                                                        0, 4
                                                                                    }
                                                                                    : new long[] {
                                                                                        0, 0
                                                                                    })
                                                                    .await()))
                                    .isInstanceOf(MismatchException.class)
                                    .hasMessageContaining("sends [0, 4] and receives [0, 0]")
                                    .hasMessageContaining("sends [0, 0] and receives [2, 0]");
                        });
    }

    @Test
    void equalCallsOfEveryKindPass() {
        backend().ranks().run(SIZE, CheckedCallsTest::passEveryKind);
    }

    private static void passEveryKind(Rank rank) {
        for (Forms form : Forms.of(rank.group())) {
            for (int round = 0; round < 3; round++) {
                Tensor sum = rank.filled(5, 1 + rank.rank());
                form.allReduce(sum, ReduceOp.SUM);
                rank.expect(sum, new long[] {6, 6, 6, 6, 6}, "sum");
                form.broadcast(sum, 1);
                form.reduce(sum, 2, ReduceOp.MAX);
                form.allGather(rank.apart(DataType.FLOAT32, new long[] {1, 1, 1}), rank.floats(9));
                form.allGather(
                        rank.apart(DataType.FLOAT32, new long[] {1, 2, 3}),
                        rank.filled(1 + rank.rank(), 4));
                form.reduceScatterSingle(rank.floats(0), rank.floats(1, 2, 3), ReduceOp.SUM);
                uneven(rank, form);
                form.barrier();
            }
        }
        List<Tensor> pair = List.of(rank.filled(2, 1), rank.filled(3, 2));
        rank.group().allReduce(pair, ReduceOp.SUM).await();
        rank.expect(pair.get(0), new long[] {3, 3}, "first");
        rank.expect(pair.get(1), new long[] {6, 6, 6}, "second");
        try (var sub = rank.group().newGroup(List.of(0, 1, 2)).orElseThrow()) {
            sub.barrier().await();
        }
    }

    /** Rank 0 sends one element to rank 1 and two to rank 2, and gets nothing. */
    private static void uneven(Rank rank, Forms form) {
        long[] sent = rank.rank() == 0 ? new long[] {0, 1, 2} : new long[SIZE];
        long[] received = {rank.rank(), 0, 0};
        Tensor output = rank.filled(rank.rank(), 0);
        form.allToAllSingle(output, rank.filled(rank.rank() == 0 ? 3 : 0, 5), received, sent);
        rank.expect(
                output, IntStream.range(0, rank.rank()).mapToLong(i -> 5).toArray(), "received");
    }

    @Test
    void callsThatDifferInASubGroupLeaveTheWorldUsable() {
        backend()
                .ranks()
                .run(
                        2,
                        rank -> {
                            try (var sub = rank.group().newGroup(List.of(0, 1)).orElseThrow()) {
                                Tensor tensor = rank.filled(2 + rank.rank(), 1);
                                assertThat(
                                                catchThrowable(
                                                        () ->
                                                                sub.sync()
                                                                        .allReduce(
                                                                                tensor,
                                                                                ReduceOp.SUM)))
                                        .isInstanceOf(MismatchException.class);
                            }
                            Tensor one = rank.floats(1);
                            rank.group().allReduce(one, ReduceOp.SUM).await();
                            rank.expect(one, new long[] {2}, "in the world");
                        });
    }

    @Test
    void aRankThatDoesNotCallIsNamed() {
        backend()
                .ranks()
                .run(
                        SIZE,
                        SHORT,
                        rank -> {
                            if (rank.rank() == 1) {
                                rank.awaitSignal("0 is done");
                                rank.awaitSignal("2 is done");
                                return;
                            }
                            Throwable thrown =
                                    catchThrowable(
                                            () ->
                                                    rank.group()
                                                            .allReduce(
                                                                    rank.floats(1), ReduceOp.SUM));
                            rank.signal(rank.rank() + " is done");
                            assertThat(thrown)
                                    .isInstanceOf(OperationTimeoutException.class)
                                    .hasMessageContaining("not called by ranks [1]")
                                    .hasMessageContaining("allReduce(float32 x 1, SUM)");
                        });
    }

    @Test
    void closingOrAbortingEndsTheWait() {
        backend()
                .ranks()
                .run(
                        2,
                        rank -> {
                            if (rank.rank() == 1) {
                                rank.awaitSignal("done");
                                return;
                            }
                            Tensor tensor = rank.floats(1);
                            assertThat(whileWaiting(rank, tensor, () -> rank.group().abort()))
                                    .isInstanceOf(GroupAbortedException.class);
                            rank.signal("done");
                        });
        backend()
                .ranks()
                .run(
                        2,
                        rank -> {
                            if (rank.rank() == 1) {
                                rank.awaitSignal("done");
                                return;
                            }
                            Tensor tensor = rank.floats(1);
                            assertThat(whileWaiting(rank, tensor, () -> rank.group().close()))
                                    .isInstanceOf(UsageException.class);
                            rank.signal("done");
                        });
    }

    private static Throwable whileWaiting(Rank rank, Tensor tensor, ThrowingCallable end)
            throws Exception {
        CompletableFuture<Throwable> waiting =
                Cases.inThread(() -> rank.group().sync().allReduce(tensor, ReduceOp.SUM));
        rank.store().await(List.of(firstCall(rank)), Ranks.TIMEOUT);
        assertThat(catchThrowable(end)).isNull();
        return Cases.outcome(waiting);
    }

    /** The key under which this rank writes its first call. */
    private static String firstCall(Rank rank) {
        List<String> found = List.of();
        while (found.isEmpty()) {
            found =
                    rank.store().listKeys().stream()
                            .filter(key -> key.endsWith("call/0/" + rank.rank()))
                            .toList();
        }
        return found.get(0);
    }
}
