package org.jccl.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.jccl.DataType;
import org.jccl.ReduceOp;
import org.jccl.SyncCollectives;
import org.jccl.Tensor;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** broadcast, allGather, gather and scatter: every type, root and form. */
abstract class GatherCases extends Cases {

    private interface Case {
        void check(Rank rank, Forms form, DataType type, int count);
    }

    private static void each(Rank rank, Case one) {
        for (Forms form : Forms.of(rank.group())) {
            for (DataType type : DataType.values()) {
                for (int count : counts(type)) {
                    one.check(rank, form, type, count);
                }
            }
            if (rank.size() == 2 || rank.size() == 3) {
                one.check(rank, form, DataType.FLOAT32, LARGE);
            }
        }
    }

    private static byte[] pattern(DataType type, int rank, int count) {
        return Elements.pattern(type, 31 * rank + count, count);
    }

    private static long[] equalCounts(Rank rank, int count) {
        return IntStream.range(0, rank.size()).mapToLong(i -> count).toArray();
    }

    private static String what(Object... parts) {
        return Arrays.toString(parts);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5})
    void broadcastCopiesTheRootsElements(int size) {
        onRanks(
                size,
                me ->
                        each(
                                me,
                                (rank, form, type, count) -> {
                                    for (int root = 0; root < size; root++) {
                                        byte[] expected = pattern(type, root, count);
                                        Tensor tensor =
                                                rank.rank() == root
                                                        ? rank.bytes(type, expected)
                                                        : rank.blank(type, count);
                                        form.broadcast(tensor, root);
                                        rank.expect(
                                                tensor,
                                                expected,
                                                what("broadcast", form, type, count, root));
                                    }
                                }));
    }

    /** Also where the group takes no tensors of the host. */
    @ParameterizedTest
    @ValueSource(ints = {1, 3})
    void arraysAreCopiedToTensorsAndBack(int size) {
        onRanks(
                size,
                rank -> {
                    int me = rank.rank();
                    int last = size - 1;
                    SyncCollectives sync = rank.group().sync();
                    float[] floats = {me, 0.5f};
                    sync.allReduce(floats, ReduceOp.SUM);
                    assertThat(floats).containsExactly(size * last / 2f, size / 2f);
                    int[] ints = {me, 1};
                    sync.allReduce(ints, ReduceOp.SUM);
                    assertThat(ints).containsExactly(size * last / 2, size);
                    if (backend().reduces(ReduceOp.MAX, DataType.FLOAT64)) {
                        double[] doubles = {me};
                        sync.allReduce(doubles, ReduceOp.MAX);
                        assertThat(doubles).containsExactly(last);
                    }
                    if (backend().reduces(ReduceOp.MAX, DataType.INT64)) {
                        long[] longs = {me};
                        sync.allReduce(longs, ReduceOp.MAX);
                        assertThat(longs).containsExactly(last);
                    }
                    float[] sent = {me};
                    sync.broadcast(sent, last);
                    assertThat(sent).containsExactly(last);
                    double[] sentDoubles = {me};
                    sync.broadcast(sentDoubles, last);
                    assertThat(sentDoubles).containsExactly(last);
                    long[] sentLongs = {me};
                    sync.broadcast(sentLongs, last);
                    assertThat(sentLongs).containsExactly(last);
                    int[] sentInts = {me};
                    sync.broadcast(sentInts, last);
                    assertThat(sentInts).containsExactly(last);
                    byte[] sentBytes = {(byte) me};
                    sync.broadcast(sentBytes, last);
                    assertThat(sentBytes).containsExactly(last);
                    int[] ranks = IntStream.range(0, size).toArray();
                    assertThat(sync.allGather(new int[] {me})).containsExactly(ranks);
                    assertThat(sync.allGather(new long[] {me}))
                            .containsExactly(Arrays.stream(ranks).asLongStream().toArray());
                    assertThat(sync.allGather(new double[] {me}))
                            .containsExactly(Arrays.stream(ranks).asDoubleStream().toArray());
                    float[] all = sync.allGather(new float[] {me, -me});
                    assertThat(all).hasSize(2 * size);
                    assertThat(all[2 * last + 1]).isEqualTo(-last);
                    assertThat(sync.allGather(new float[0])).isEmpty();
                });
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5})
    void allGatherSingleConcatenatesInRankOrder(int size) {
        onRanks(
                size,
                me ->
                        each(
                                me,
                                (rank, form, type, count) -> {
                                    byte[] mine = pattern(type, rank.rank(), count);
                                    Tensor input = rank.bytes(type, mine);
                                    Tensor output = rank.blank(type, count * size);
                                    form.allGatherSingle(output, input);
                                    String what = what("allGatherSingle", form, type, count);
                                    expectAll(rank, output, type, count, what);
                                    rank.expect(input, mine, what + " input");

                                    output = rank.blank(type, count * size);
                                    Tensor own = output.slice((long) rank.rank() * count, count);
                                    rank.backend().write(own, mine);
                                    form.allGatherSingle(output, own);
                                    expectAll(rank, output, type, count, what + " in place");
                                }));
    }

    private static void expectAll(Rank rank, Tensor output, DataType type, int count, String what) {
        for (int other = 0; other < rank.size(); other++) {
            rank.expect(
                    output.slice((long) other * count, count), pattern(type, other, count), what);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5})
    void allGatherFillsOneTensorARank(int size) {
        onRanks(
                size,
                me ->
                        each(
                                me,
                                (rank, form, type, count) -> {
                                    long[] counts = equalCounts(rank, count);
                                    allGather(rank, form, type, counts, rank.apart(type, counts));
                                    allGather(
                                            rank, form, type, counts, rank.adjacent(type, counts));
                                }));
    }

    @Tag("uneven")
    @ParameterizedTest
    @ValueSource(ints = {2, 3, 4, 5})
    void allGatherTakesPartsOfAnySize(int size) {
        List<long[]> layouts =
                List.of(
                        IntStream.range(0, size).mapToLong(i -> i * 3).toArray(),
                        IntStream.range(0, size).mapToLong(i -> i == size - 1 ? 0 : 7).toArray());
        long[] large = IntStream.range(0, size).mapToLong(i -> i == 0 ? LARGE : i).toArray();
        onRanks(
                size,
                rank -> {
                    for (Forms form : Forms.of(rank.group())) {
                        for (DataType type : DataType.values()) {
                            for (long[] counts : layouts) {
                                allGather(rank, form, type, counts, rank.apart(type, counts));
                                allGather(rank, form, type, counts, rank.adjacent(type, counts));
                            }
                        }
                        DataType type = DataType.FLOAT32;
                        allGather(rank, form, type, large, rank.apart(type, large));
                        allGather(rank, form, type, large, rank.adjacent(type, large));
                    }
                });
    }

    private static void allGather(
            Rank rank, Forms form, DataType type, long[] counts, List<Tensor> outputs) {
        byte[] mine = pattern(type, rank.rank(), (int) counts[rank.rank()]);
        Tensor input = rank.bytes(type, mine);
        form.allGather(outputs, input);
        String what = what("allGather", form, type, Arrays.toString(counts));
        for (int other = 0; other < rank.size(); other++) {
            rank.expect(outputs.get(other), pattern(type, other, (int) counts[other]), what);
        }
        rank.expect(input, mine, what + " input");

        rank.backend().write(outputs.get(rank.rank()), mine);
        form.allGather(outputs, outputs.get(rank.rank()));
        for (int other = 0; other < rank.size(); other++) {
            rank.expect(
                    outputs.get(other),
                    pattern(type, other, (int) counts[other]),
                    what + " in place");
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5})
    void gatherFillsTheRootsList(int size) {
        onRanks(
                size,
                me ->
                        each(
                                me,
                                (rank, form, type, count) -> {
                                    for (int root = 0; root < size; root++) {
                                        boolean adjacent = (root + count) % 2 == 0;
                                        gather(rank, form, type, count, root, adjacent);
                                    }
                                }));
    }

    private static void gather(
            Rank rank, Forms form, DataType type, int count, int root, boolean adjacent) {
        byte[] mine = pattern(type, rank.rank(), count);
        Tensor input = rank.bytes(type, mine);
        long[] counts = equalCounts(rank, count);
        List<Tensor> outputs = List.of();
        if (rank.rank() == root) {
            outputs = adjacent ? rank.adjacent(type, counts) : rank.apart(type, counts);
        }
        form.gather(outputs, input, root);
        String what = what("gather", form, type, count, root, adjacent);
        for (int other = 0; other < outputs.size(); other++) {
            rank.expect(outputs.get(other), pattern(type, other, count), what);
        }
        rank.expect(input, mine, what + " input");

        if (rank.rank() == root) {
            input = outputs.get(root);
        }
        form.gather(outputs, input, root);
        for (int other = 0; other < outputs.size(); other++) {
            rank.expect(outputs.get(other), pattern(type, other, count), what + " in place");
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5})
    void scatterDealsTheRootsListOut(int size) {
        onRanks(
                size,
                me ->
                        each(
                                me,
                                (rank, form, type, count) -> {
                                    for (int root = 0; root < size; root++) {
                                        boolean adjacent = (root + count) % 2 == 0;
                                        scatter(rank, form, type, count, root, adjacent);
                                    }
                                }));
    }

    private static void scatter(
            Rank rank, Forms form, DataType type, int count, int root, boolean adjacent) {
        List<Tensor> inputs = new ArrayList<>();
        if (rank.rank() == root) {
            long[] counts = equalCounts(rank, count);
            inputs = adjacent ? rank.adjacent(type, counts) : rank.apart(type, counts);
            for (int other = 0; other < rank.size(); other++) {
                rank.backend().write(inputs.get(other), pattern(type, other, count));
            }
        }
        Tensor output = rank.blank(type, count);
        form.scatter(output, inputs, root);
        String what = what("scatter", form, type, count, root, adjacent);
        rank.expect(output, pattern(type, rank.rank(), count), what);
        for (int other = 0; other < inputs.size(); other++) {
            rank.expect(inputs.get(other), pattern(type, other, count), what + " input");
        }

        output = rank.rank() == root ? inputs.get(root) : rank.blank(type, count);
        form.scatter(output, inputs, root);
        rank.expect(output, pattern(type, rank.rank(), count), what + " in place");
        for (int other = 0; other < inputs.size(); other++) {
            rank.expect(inputs.get(other), pattern(type, other, count), what + " input in place");
        }
    }
}
