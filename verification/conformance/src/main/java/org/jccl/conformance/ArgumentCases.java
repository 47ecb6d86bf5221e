package org.jccl.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.AbstractList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.JcclException;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.UsageException;
import org.junit.jupiter.api.Test;

/** Wrong arguments are refused on the rank that gives them, before anything native sees them. */
abstract class ArgumentCases extends Cases {

    private interface Call {
        void make(Rank rank, Forms form, int me, int other);
    }

    private static final ReduceOp SUM = ReduceOp.SUM;

    /** What is wrong, the words that must be in the message, and the call; for two ranks. */
    private static Map<String, Call> wrongCalls() {
        Map<String, Call> calls = new LinkedHashMap<>();
        roots(calls);
        lists(calls);
        shapes(calls);
        types(calls);
        memory(calls);
        messages(calls);
        return calls;
    }

    private static void roots(Map<String, Call> calls) {
        calls.put("broadcast: root .* 0 to 1, got 2", (r, f, me, o) -> f.broadcast(r.floats(1), 2));
        calls.put("broadcast: root .* got -1", (r, f, me, o) -> f.broadcast(r.floats(1), -1));
        calls.put("reduce: root .* got 2", (r, f, me, o) -> f.reduce(r.floats(1), 2, SUM));
        calls.put("gather: root .* got 9", (r, f, me, o) -> f.gather(List.of(), r.floats(1), 9));
        calls.put(
                "scatter: root .* got -7", (r, f, me, o) -> f.scatter(r.floats(1), List.of(), -7));
    }

    private static void lists(Map<String, Call> calls) {
        calls.put(
                "allGather: outputs must hold one tensor .* got 1",
                (r, f, me, o) -> f.allGather(List.of(r.floats(1)), r.floats(1)));
        calls.put(
                "allGather: outputs must hold one tensor .* got null",
                (r, f, me, o) -> f.allGather(null, r.floats(1)));
        calls.put(
                "allGather: outputs.get\\(1\\) is null",
                (r, f, me, o) -> f.allGather(Arrays.asList(r.floats(1), null), r.floats(1)));
        calls.put(
                "gather: outputs must be given on the root",
                (r, f, me, o) -> f.gather(List.of(), r.floats(1), me));
        calls.put(
                "gather: outputs must be given on the root( only)?",
                (r, f, me, o) -> f.gather(null, r.floats(1), me));
        calls.put(
                "gather: outputs must be given on the root only",
                (r, f, me, o) -> f.gather(List.of(r.floats(1), r.floats(1)), r.floats(1), o));
        calls.put(
                "gather: outputs must hold one tensor for each of the 2 ranks",
                (r, f, me, o) -> f.gather(List.of(r.floats(1)), r.floats(1), me));
        calls.put(
                "scatter: inputs must be given on the root",
                (r, f, me, o) -> f.scatter(r.floats(1), null, me));
        calls.put(
                "scatter: inputs must be given on the root only",
                (r, f, me, o) -> f.scatter(r.floats(1), List.of(r.floats(1), r.floats(1)), o));
        calls.put(
                "reduceScatter: inputs must hold one tensor .* got 3",
                (r, f, me, o) ->
                        f.reduceScatter(
                                r.floats(1), List.of(r.floats(1), r.floats(1), r.floats(1)), SUM));
        calls.put("inputs must hold one tensor", (r, f, me, o) -> f.allToAll(List.of(), List.of()));
        calls.put("inputs must hold one tensor ", (r, f, me, o) -> f.allToAll(List.of(), null));
        calls.put(
                "allToAll: outputs must hold one tensor",
                (r, f, me, o) ->
                        f.allToAll(List.of(r.floats(1)), List.of(r.floats(1), r.floats(1))));
    }

    private static void shapes(Map<String, Call> calls) {
        calls.put(
                "allGatherSingle|allGather: output has 3 elements",
                (r, f, me, o) -> f.allGatherSingle(r.floats(1, 2, 3), r.floats(1)));
        calls.put(
                "allGather: outputs.get\\(\\d\\) has 2 elements, input has 1",
                (r, f, me, o) -> f.allGather(List.of(r.floats(1, 2), r.floats(1, 2)), r.floats(1)));
        calls.put(
                "gather: outputs.get\\(1\\) has 2 elements",
                (r, f, me, o) -> f.gather(List.of(r.floats(1), r.floats(1, 2)), r.floats(1), me));
        calls.put(
                "scatter: inputs.get\\(0\\) has 2 elements",
                (r, f, me, o) -> f.scatter(r.floats(1), List.of(r.floats(1, 2), r.floats(1)), me));
        calls.put(
                "reduceScatter: input has 3 elements",
                (r, f, me, o) -> f.reduceScatterSingle(r.floats(1), r.floats(1, 2, 3), SUM));
        calls.put(
                "reduceScatter: inputs.get\\(\\d\\) has 1 elements, output has 2",
                (r, f, me, o) ->
                        f.reduceScatter(r.floats(1, 2), List.of(r.floats(1), r.floats(1)), SUM));
        calls.put(
                "allToAll: input has 3 elements, which is not a multiple .* 2",
                (r, f, me, o) -> f.allToAllSingle(r.floats(1, 2, 3), r.floats(1, 2, 3)));
        calls.put(
                "allToAll: output has 4 elements, input has 2",
                (r, f, me, o) -> f.allToAllSingle(r.filled(4, 0), r.filled(2, 0)));
        long[] ones = {1, 1};
        calls.put(
                "inputSplits \\[1, 2\\] must .*sum up to 2",
                (r, f, me, o) ->
                        f.allToAllSingle(r.filled(2, 0), r.filled(2, 0), ones, new long[] {1, 2}));
        calls.put(
                "outputSplits \\[1, 0\\] must sum up to 2",
                (r, f, me, o) ->
                        f.allToAllSingle(r.filled(2, 0), r.filled(2, 0), new long[] {1, 0}, ones));
        calls.put(
                "inputSplits .* must not be negative",
                (r, f, me, o) ->
                        f.allToAllSingle(r.filled(2, 0), r.filled(2, 0), ones, new long[] {-1, 3}));
        calls.put(
                "inputSplits .*9223372036854775807.* must not be negative",
                (r, f, me, o) ->
                        f.allToAllSingle(
                                r.filled(2, 0),
                                r.filled(2, 0),
                                ones,
                                new long[] {Long.MAX_VALUE, Long.MAX_VALUE}));
        calls.put(
                "outputSplits must hold one count for each of the 2 ranks",
                (r, f, me, o) ->
                        f.allToAllSingle(r.filled(2, 0), r.filled(2, 0), new long[] {2}, ones));
        calls.put(
                "inputSplits must hold one count",
                (r, f, me, o) -> f.allToAllSingle(r.filled(2, 0), r.filled(2, 0), ones, null));
        calls.put(
                "this rank sends itself \\d elements but expects \\d",
                (r, f, me, o) ->
                        f.allToAllSingle(
                                r.filled(2, 0),
                                r.filled(2, 0),
                                new long[] {2, 0},
                                new long[] {0, 2}));
    }

    private static void types(Map<String, Call> calls) {
        calls.put(
                "allGather: output is int32, other tensors of the call are float32",
                (r, f, me, o) -> f.allGatherSingle(r.blank(DataType.INT32, 2), r.floats(1)));
        calls.put(
                "outputs.get\\(1\\) is float64",
                (r, f, me, o) ->
                        f.allGather(
                                List.of(r.floats(1), r.blank(DataType.FLOAT64, 1)), r.floats(1)));
        calls.put(
                "scatter: inputs.get\\(1\\) is bfloat16",
                (r, f, me, o) ->
                        f.scatter(
                                r.blank(DataType.FLOAT16, 1),
                                List.of(
                                        r.blank(DataType.FLOAT16, 1),
                                        r.blank(DataType.BFLOAT16, 1)),
                                me));
        calls.put(
                "reduceScatter: input is int32",
                (r, f, me, o) ->
                        f.reduceScatterSingle(r.floats(1), r.blank(DataType.INT32, 2), SUM));
        calls.put(
                "allToAll: output is int8",
                (r, f, me, o) ->
                        f.allToAllSingle(r.blank(DataType.INT8, 2), r.blank(DataType.UINT8, 2)));
        calls.put(
                "AVG is not defined for int32",
                (r, f, me, o) -> f.allReduce(r.blank(DataType.INT32, 1), ReduceOp.AVG));
        calls.put(
                "BAND is not defined for float32",
                (r, f, me, o) -> f.allReduce(r.floats(1), ReduceOp.BAND));
        calls.put("reduce op is null", (r, f, me, o) -> f.allReduce(r.floats(1), null));
        calls.put(
                "the group was made for",
                (r, f, me, o) ->
                        f.broadcast(
                                Tensor.of(64, 1, DataType.INT8, new Device("abacus", 0), null), 0));
    }

    private static void memory(Map<String, Call> calls) {
        calls.put("is null", (r, f, me, o) -> f.allReduce(null, SUM));
        calls.put("input is null|tensor is null", (r, f, me, o) -> f.gather(null, null, o));
        calls.put("output is null", (r, f, me, o) -> f.allGatherSingle(null, r.floats(1)));
        calls.put("input is null", (r, f, me, o) -> f.reduceScatterSingle(r.floats(1), null, SUM));
        calls.put("tensor is closed", (r, f, me, o) -> f.broadcast(closed(r), 0));
        calls.put("input is closed", (r, f, me, o) -> f.allGatherSingle(r.floats(1, 2), closed(r)));
        calls.put(
                "outputs.get\\(1\\) is closed",
                (r, f, me, o) -> f.allGather(List.of(r.floats(1), closed(r)), r.floats(1)));
        calls.put(
                "output and input overlap",
                (r, f, me, o) -> {
                    Tensor whole = r.floats(0, 1, 2, 3);
                    f.allGatherSingle(whole, whole.slice(o * 2L, 2));
                });
        calls.put(
                "reduceScatter: output and input overlap",
                (r, f, me, o) -> {
                    Tensor whole = r.floats(0, 1);
                    f.reduceScatterSingle(whole.slice(o, 1), whole, SUM);
                });
        calls.put(
                "allToAll: output and input overlap",
                (r, f, me, o) -> {
                    Tensor whole = r.floats(0, 1, 2);
                    f.allToAllSingle(whole.slice(0, 2), whole.slice(1, 2));
                });
        calls.put(
                "output 0 and output 1 overlap",
                (r, f, me, o) -> {
                    Tensor twice = r.floats(1);
                    f.allGather(List.of(twice, twice), r.floats(1));
                });
        calls.put(
                "output and input . overlap",
                (r, f, me, o) -> {
                    Tensor whole = r.floats(0, 1);
                    f.scatter(whole.slice(o, 1), List.of(whole.slice(0, 1), whole.slice(1, 1)), me);
                });
    }

    private static Tensor closed(Rank rank) {
        Tensor tensor = rank.floats(1);
        tensor.close();
        return tensor;
    }

    private static void messages(Map<String, Call> calls) {
        calls.put("send: peer is this rank itself", (r, f, me, o) -> f.send(r.floats(1), me, 0));
        calls.put("recv: peer is this rank itself", (r, f, me, o) -> f.recv(r.floats(1), me, 0));
        calls.put("send: peer must be a rank .* got 2", (r, f, me, o) -> f.send(r.floats(1), 2, 0));
        calls.put(
                "recv: peer must be a rank .* got -1", (r, f, me, o) -> f.recv(r.floats(1), -1, 0));
        calls.put(
                "send: tag must not be negative, got -3",
                (r, f, me, o) -> f.send(r.floats(1), o, -3));
        calls.put("recv: tag must not be negative", (r, f, me, o) -> f.recv(r.floats(1), o, -1));
        calls.put(
                "recv: tag must not be negative, got -2",
                (r, f, me, o) -> r.group().recvAnySource(r.floats(1), -2));
    }

    @Test
    void wrongArgumentsAreRefusedAndTheGroupStaysUsable() {
        onRanks(
                2,
                rank -> {
                    int me = rank.rank();
                    for (Forms form : Forms.of(rank.group())) {
                        wrongCalls()
                                .forEach((words, call) -> expectRefusal(rank, form, words, call));
                    }
                    Tensor sum = rank.floats(me);
                    rank.group().allReduce(sum, SUM).await();
                    rank.expect(sum, new long[] {1}, "after refusals");
                });
    }

    private static void expectRefusal(Rank rank, Forms form, String words, Call call) {
        assertThatThrownBy(() -> call.make(rank, form, rank.rank(), 1 - rank.rank()))
                .as("%s, %s", form, words)
                .isInstanceOfSatisfying(
                        UsageException.class,
                        refusal -> {
                            assertThat(refusal.category()).isEqualTo(JcclException.Category.USAGE);
                            assertThat(refusal.context().rank()).isEqualTo(rank.rank());
                        })
                .hasMessageMatching("(?s).*(" + words.strip() + ").*");
    }

    /** What was checked must be what is used. */
    @Test
    void aListThatChangesIsReadOnce() {
        onRanks(
                2,
                rank -> {
                    long me = rank.rank();
                    for (Forms form : Forms.of(rank.group())) {
                        List<Tensor> mine = pair(rank, 10 * me, 10 * me + 1);
                        List<Tensor> all = pair(rank, -1, -1);
                        form.allGather(changing(rank, all), rank.floats(me));
                        expect(rank, all, "allGather", 0, 1);
                        form.allToAll(changing(rank, all), changing(rank, mine));
                        expect(rank, all, "allToAll", me, 10 + me);
                        Tensor one = rank.floats(-1);
                        form.reduceScatter(one, changing(rank, mine), SUM);
                        expect(rank, List.of(one), "reduceScatter", 10 + 2 * me);
                        boolean root = me == 1;
                        form.scatter(one, root ? changing(rank, mine) : List.of(), 1);
                        expect(rank, List.of(one), "scatter", 10 + me);
                        form.gather(root ? changing(rank, all) : List.of(), rank.floats(me), 1);
                        expect(rank, all, "gather", root ? 0 : me, root ? 1 : 10 + me);
                    }
                    List<Integer> ranks = new ChangingList<>(List.of(1, 0), List.of(7, 7));
                    try (ProcessGroup group = rank.group().newGroup(ranks).orElseThrow()) {
                        assertThat(group.worldRanks()).containsExactly(1, 0);
                    }
                });
    }

    private static List<Tensor> pair(Rank rank, long one, long other) {
        return List.of(rank.floats(one), rank.floats(other));
    }

    private static List<Tensor> changing(Rank rank, List<Tensor> tensors) {
        return new ChangingList<>(tensors, pair(rank, 99, 99));
    }

    private static void expect(Rank rank, List<Tensor> tensors, String what, long... values) {
        for (int i = 0; i < values.length; i++) {
            rank.expect(tensors.get(i), new long[] {values[i]}, what + " " + i);
        }
    }

    @Test
    void aListThatCanNotBeReadIsRefused() {
        List<Tensor> shrinking =
                new AbstractList<>() {
                    @Override
                    public Tensor get(int index) {
                        throw new IndexOutOfBoundsException(index);
                    }

                    @Override
                    public int size() {
                        return 2;
                    }
                };
        @SuppressWarnings({"unchecked", "rawtypes"})
        List<Tensor> texts = (List<Tensor>) (List) List.of("a", "b");
        onRanks(
                2,
                rank -> {
                    for (Forms form : Forms.of(rank.group())) {
                        for (List<Tensor> bad : List.of(shrinking, texts)) {
                            expectRefusal(
                                    rank,
                                    form,
                                    "outputs cannot be read as a list of Tensor",
                                    (r, f, me, o) -> f.allGather(bad, r.floats(1)));
                            expectRefusal(
                                    rank,
                                    form,
                                    "inputs cannot be read as a list of Tensor",
                                    (r, f, me, o) -> f.allToAll(bad, bad));
                        }
                    }
                });
    }

    /** Which of many overlap is found by sorting. */
    @Test
    void overlapsAreFoundWhateverTheOrder() {
        onRanks(
                3,
                rank -> {
                    Tensor whole = rank.floats(0, 1, 2, 3, 4, 5);
                    for (Forms form : Forms.of(rank.group())) {
                        expectRefusal(
                                rank,
                                form,
                                "output 0 and output 2 overlap",
                                (r, f, me, o) ->
                                        f.allToAll(
                                                List.of(
                                                        whole.slice(4, 2),
                                                        whole.slice(0, 2),
                                                        whole.slice(3, 2)),
                                                threes(r)));
                        expectRefusal(
                                rank,
                                form,
                                "output 1 and an input overlap",
                                (r, f, me, o) ->
                                        f.allToAll(
                                                List.of(
                                                        whole.slice(3, 2),
                                                        whole.slice(0, 2),
                                                        r.filled(2, 0)),
                                                List.of(
                                                        r.filled(2, 0),
                                                        r.filled(2, 0),
                                                        whole.slice(1, 2))));
                        // Inputs may, and what has no elements is nowhere.
                        Tensor twice = rank.filled(2, rank.rank());
                        Tensor nothing = whole.slice(1, 0);
                        form.allToAll(
                                List.of(whole.slice(4, 2), whole.slice(2, 2), whole.slice(0, 2)),
                                List.of(twice, twice, twice));
                        rank.expect(whole, new long[] {2, 2, 1, 1, 0, 0}, "allToAll");
                        form.allToAll(
                                List.of(nothing, nothing, nothing),
                                List.of(nothing, nothing, nothing));
                    }
                });
    }

    private static List<Tensor> threes(Rank rank) {
        return List.of(rank.filled(2, 0), rank.filled(2, 0), rank.filled(2, 0));
    }

    @Test
    void aWorldOfOneHasNobodyToTalkTo() {
        onRanks(
                1,
                rank -> {
                    for (Forms form : Forms.of(rank.group())) {
                        assertThatThrownBy(() -> form.send(rank.floats(1), 0, 0))
                                .isInstanceOf(UsageException.class)
                                .hasMessageContaining("no other rank");
                    }
                    assertThatThrownBy(() -> rank.group().recvAnySource(rank.floats(1)))
                            .isInstanceOf(UsageException.class)
                            .hasMessageContaining("no other rank");
                });
    }
}
