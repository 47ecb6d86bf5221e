package org.jccl.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jccl.DataType;
import org.jccl.GroupAbortedException;
import org.jccl.JcclException;
import org.jccl.OperationTimeoutException;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Ranks that do not issue the same operation: an exception on every rank, long before the deadline,
 * instead of wrong data or a dead process.
 */
@Needs(Capability.STUCK_MISMATCHES)
abstract class MismatchCases extends Cases {

    private interface Call {
        void make(Rank rank, Forms form);
    }

    private record Pair(Call first, Call others) {}

    private static final Map<String, Pair> PAIRS = new LinkedHashMap<>();

    private static final String FACTOR = "factor";

    /** What a message says of two calls that differ. */
    static final String BOTH_SIDES =
            "(?s).*rank \\d has \\w+\\(.*\\) where rank \\d has \\w+\\(.*\\), as operation \\d+;.*";

    /** Those that a library may get through with, so that nobody is stuck. */
    private static final List<String> SUBTLE =
            List.of(FACTOR, "count of a message", "type of a message");

    static {
        put("count", (r, f) -> sum(f, r.filled(4, 1)), (r, f) -> sum(f, r.filled(8, 1)));
        put("zero count", (r, f) -> sum(f, r.floats()), (r, f) -> sum(f, r.filled(8, 1)));
        put("large count", (r, f) -> sum(f, r.filled(LARGE, 1)), (r, f) -> sum(f, r.floats(1)));
        put(
                "type of the same size",
                (r, f) -> sum(f, r.tensor(DataType.FLOAT32, 1, 2)),
                (r, f) -> sum(f, r.tensor(DataType.INT32, 1, 2)));
        put(
                "type of another size",
                (r, f) -> f.broadcast(r.tensor(DataType.FLOAT32, 1, 2), 0),
                (r, f) -> f.broadcast(r.tensor(DataType.FLOAT64, 1, 2), 0));
        put(
                "reduce op",
                (r, f) -> f.allReduce(r.filled(3, 3), ReduceOp.SUM),
                (r, f) -> f.allReduce(r.filled(3, 3), ReduceOp.MAX));
        put(
                FACTOR,
                (r, f) -> f.allReduce(r.filled(3, 3), ReduceOp.premulSum(2)),
                (r, f) -> f.allReduce(r.filled(3, 3), ReduceOp.premulSum(3)));
        put(
                "root of broadcast",
                (r, f) -> f.broadcast(r.filled(4, 1), 0),
                (r, f) -> f.broadcast(r.filled(4, 1), 1));
        put(
                "root of reduce",
                (r, f) -> f.reduce(r.filled(4, 1), 0, ReduceOp.SUM),
                (r, f) -> f.reduce(r.filled(4, 1), 1, ReduceOp.SUM));
        put(
                "operation",
                (r, f) -> sum(f, r.filled(4, 1)),
                (r, f) -> f.broadcast(r.filled(4, 1), 0));
        put("barrier", (r, f) -> f.barrier(), (r, f) -> sum(f, r.filled(4, 1)));
        put(
                "count of allGather",
                (r, f) -> f.allGatherSingle(r.filled(3, 0), r.filled(1, 0)),
                (r, f) -> f.allGatherSingle(r.filled(6, 0), r.filled(2, 0)));
        put(
                "parts of allGather",
                (r, f) -> f.allGather(r.apart(DataType.FLOAT32, new long[] {1, 2, 3}), r.floats(9)),
                (r, f) ->
                        f.allGather(
                                r.apart(DataType.FLOAT32, new long[] {2, 2, 2}), r.floats(9, 9)));
        put(
                "count of reduceScatter",
                (r, f) -> f.reduceScatterSingle(r.floats(1), r.filled(3, 0), ReduceOp.SUM),
                (r, f) -> f.reduceScatterSingle(r.floats(1, 2), r.filled(6, 0), ReduceOp.SUM));
        put(
                "count of a message",
                (r, f) -> f.send(r.filled(4, 1), 1, 0),
                (r, f) -> {
                    if (r.rank() == 1) {
                        f.recv(r.filled(8, 1), 0, 0);
                    }
                });
        put(
                "type of a message",
                (r, f) -> f.send(r.tensor(DataType.FLOAT32, 1), 1, 0),
                (r, f) -> {
                    if (r.rank() == 1) {
                        f.recv(r.tensor(DataType.INT32, 1), 0, 0);
                    }
                });
    }

    private static void put(String name, Call first, Call others) {
        PAIRS.put(name, new Pair(first, others));
    }

    private static void sum(Forms form, Tensor tensor) {
        form.allReduce(tensor, ReduceOp.SUM);
    }

    static List<String> pairs() {
        return PAIRS.keySet().stream().filter(pair -> !SUBTLE.contains(pair)).toList();
    }

    /** All but those of messages. */
    static List<String> collectivePairs() {
        return PAIRS.keySet().stream().filter(pair -> !pair.endsWith("of a message")).toList();
    }

    /** Makes a rank's call of a pair. */
    static void call(String what, Rank rank, Forms form) {
        Pair pair = PAIRS.get(what);
        (rank.rank() == 0 ? pair.first() : pair.others()).make(rank, form);
    }

    static List<String> subtlePairs() {
        return SUBTLE;
    }

    @ParameterizedTest
    @MethodSource("subtlePairs")
    @Needs(Capability.COMPARED_CALLS)
    void everyRankLearnsEvenOfADifferent(String what) {
        Assumptions.assumeTrue(
                !what.equals(FACTOR) || backend().reduces(ReduceOp.premulSum(2), DataType.FLOAT32),
                "this backend takes no factors");
        everyRankLearnsOfADifferent(what);
    }

    @ParameterizedTest
    @MethodSource("pairs")
    void everyRankLearnsOfADifferent(String what) {
        Pair pair = PAIRS.get(what);
        onRanks(
                3,
                rank -> {
                    // Both forms have to notice; ranks mix them as programs do.
                    Forms form = Forms.of(rank.group()).get(rank.rank() % 2);
                    Call call = rank.rank() == 0 ? pair.first() : pair.others();
                    // After the failure, writing to it could wait for a stream that is being
                    // aborted.
                    Tensor ofLaterCall = rank.floats(1);
                    Throwable thrown =
                            catchThrowable(
                                    () -> {
                                        call.make(rank, form);
                                        // A rank that could do its part learns of it here.
                                        form.barrier();
                                    });
                    assertThat(thrown)
                            .as("%s on rank %d", what, rank.rank())
                            .isInstanceOf(JcclException.class)
                            .isNotInstanceOf(OperationTimeoutException.class)
                            .hasMessageContaining("world")
                            .hasMessageContaining("rank " + rank.rank())
                            .satisfies(Cases::showsTheCaller);
                    if (!SUBTLE.contains(what) && Ranks.SLOWNESS == 1) {
                        // What both sides issued, whichever of them noticed it. On an emulated
                        // processor the other side may report later than a rank waits for it.
                        assertThat(thrown).hasMessageMatching(BOTH_SIDES);
                    }
                    assertThat(((JcclException) thrown).category())
                            .isEqualTo(JcclException.Category.FATAL_GROUP);
                    agrees(rank, thrown);
                    Throwable later = catchThrowable(() -> sum(form, ofLaterCall));
                    assertThat(later)
                            .isInstanceOf(GroupAbortedException.class)
                            .satisfies(Cases::showsTheCaller);
                    assertThat(later.getCause()).isInstanceOf(JcclException.class);
                });
    }

    @Test
    void splitsThatDisagreeEndAtTheDeadlineAtTheLatest() {
        backend()
                .ranks()
                .run(
                        2,
                        Ranks.onThisHost(2),
                        rank -> {
                            long[] sent = rank.rank() == 0 ? new long[] {0, 4} : new long[] {0, 0};
                            long[] got = rank.rank() == 0 ? new long[] {0, 0} : new long[] {2, 0};
                            Throwable thrown =
                                    catchThrowable(
                                            () -> {
                                                rank.group()
                                                        .allToAllSingle(
                                                                rank.filled((int) got[0], 0),
                                                                rank.filled((int) sent[1], 0),
                                                                got,
                                                                sent)
                                                        .await();
                                                rank.group().barrier().await();
                                            });
                            assertThat(thrown).isInstanceOf(JcclException.class);
                            assertThat(((JcclException) thrown).category())
                                    .isEqualTo(JcclException.Category.FATAL_GROUP);
                        });
    }

    @Test
    void aMismatchInASubGroupLeavesTheWorldUsable() {
        onRanks(
                2,
                rank -> {
                    try (var sub = rank.group().newGroup(List.of(0, 1)).orElseThrow()) {
                        Tensor tensor = rank.filled(2 + rank.rank(), 1);
                        Throwable thrown =
                                catchThrowable(
                                        () -> sub.allReduce(tensor, ReduceOp.SUM).synchronize());
                        assertThat(thrown).isInstanceOf(JcclException.class);
                    }
                    Tensor one = rank.floats(1);
                    rank.group().allReduce(one, ReduceOp.SUM).await();
                    rank.expect(one, new long[] {2}, "in the world");
                });
    }
}
