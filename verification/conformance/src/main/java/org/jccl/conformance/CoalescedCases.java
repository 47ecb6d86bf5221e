package org.jccl.conformance;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntFunction;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.jccl.DataType;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.UsageException;
import org.jccl.Work;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Operations of several tensors at once do what the same ones do tensor by tensor. */
abstract class CoalescedCases extends Cases {

    private static final ReduceOp SUM = ReduceOp.SUM;

    /** Counts of the tensors of a list; some are empty. */
    private static final List<long[]> LISTS =
            List.of(new long[] {5}, new long[] {3, 0, 17, 1}, new long[] {0, 0});

    /** Together larger than a socket's buffers. */
    private static final long[] LARGE_LIST = {100_003, 1, 200_001};

    private static List<long[]> listsOf(Rank rank, DataType type) {
        List<long[]> lists = new ArrayList<>(LISTS);
        if (type == DataType.FLOAT32 && rank.size() < 4) {
            lists.add(LARGE_LIST);
        }
        return lists;
    }

    /** Devices have little memory. */
    private static void close(List<Tensor> views) {
        views.get(0).close();
    }

    /** A list whose memory is in one piece, and one whose memory is not. */
    private static List<List<Tensor>> lists(Rank rank, DataType type, long[] counts) {
        return List.of(rank.adjacent(type, counts), rank.apart(type, counts));
    }

    private static byte[] pattern(DataType type, int rank, int tensor, long count) {
        return Elements.pattern(type, 31 * rank + 7 * tensor + count, Math.toIntExact(count));
    }

    /** What rank {@code rank} has in element {@code i} of a tensor that is summed. */
    private static long value(int rank, int tensor, int i) {
        return 100 * rank + 10 * tensor + i % 10;
    }

    private static long sum(int size, int tensor, int i) {
        long sum = 0;
        for (int rank = 0; rank < size; rank++) {
            sum += value(rank, tensor, i);
        }
        return sum;
    }

    private static long[] values(long count, IntFunction<Long> value) {
        long[] values = new long[Math.toIntExact(count)];
        Arrays.setAll(values, i -> value.apply(i));
        return values;
    }

    private static void write(Rank rank, Tensor tensor, long... values) {
        rank.backend().write(tensor, Elements.encode(tensor.dataType(), values));
    }

    private static String what(String name, DataType type, long[] counts, int tensor) {
        return name + " " + type + " " + Arrays.toString(counts) + ", tensor " + tensor;
    }

    private static long[] times(long[] counts, int factor) {
        return Arrays.stream(counts).map(count -> factor * count).toArray();
    }

    private static DataType[] reducedTypes(Rank rank) {
        return Arrays.stream(new DataType[] {DataType.FLOAT32, DataType.FLOAT64, DataType.INT32})
                .filter(type -> rank.backend().reduces(SUM, type))
                .toArray(DataType[]::new);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4})
    void allReduceReducesEach(int size) {
        onRanks(
                size,
                rank -> {
                    for (DataType type : reducedTypes(rank)) {
                        for (long[] counts : listsOf(rank, type)) {
                            for (List<Tensor> tensors : lists(rank, type, counts)) {
                                allReduce(rank, type, counts, tensors);
                                close(tensors);
                            }
                        }
                    }
                });
    }

    private static void allReduce(Rank rank, DataType type, long[] counts, List<Tensor> tensors) {
        for (int t = 0; t < counts.length; t++) {
            int tensor = t;
            write(rank, tensors.get(t), values(counts[t], i -> value(rank.rank(), tensor, i)));
        }
        rank.group().allReduce(tensors, SUM).await();
        for (int t = 0; t < counts.length; t++) {
            int tensor = t;
            rank.expect(
                    tensors.get(t),
                    values(counts[t], i -> sum(rank.size(), tensor, i)),
                    what("allReduce", type, counts, t));
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4})
    void broadcastCopiesEach(int size) {
        onRanks(
                size,
                rank -> {
                    for (DataType type : DataType.values()) {
                        for (long[] counts : listsOf(rank, type)) {
                            for (List<Tensor> tensors : lists(rank, type, counts)) {
                                int root = counts.length % size;
                                broadcast(rank, type, counts, tensors, root);
                                close(tensors);
                            }
                        }
                    }
                });
    }

    private static void broadcast(
            Rank rank, DataType type, long[] counts, List<Tensor> tensors, int root) {
        for (int t = 0; t < counts.length && rank.rank() == root; t++) {
            rank.backend().write(tensors.get(t), pattern(type, root, t, counts[t]));
        }
        rank.group().broadcast(tensors, root).await();
        for (int t = 0; t < counts.length; t++) {
            rank.expect(
                    tensors.get(t),
                    pattern(type, root, t, counts[t]),
                    what("broadcast", type, counts, t));
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4})
    void allGatherSingleCollectsEach(int size) {
        onRanks(
                size,
                rank -> {
                    for (DataType type : DataType.values()) {
                        for (long[] counts : listsOf(rank, type)) {
                            for (List<Tensor> inputs : lists(rank, type, counts)) {
                                List<Tensor> outputs = rank.apart(type, times(counts, size));
                                allGatherSingle(rank, counts, outputs, inputs);
                                close(inputs);
                                close(outputs);
                            }
                            List<Tensor> outputs = rank.adjacent(type, times(counts, size));
                            List<Tensor> inPlace = new ArrayList<>();
                            for (int t = 0; t < counts.length; t++) {
                                long own = rank.rank() * counts[t];
                                inPlace.add(outputs.get(t).slice(own, counts[t]));
                            }
                            allGatherSingle(rank, counts, outputs, inPlace);
                            close(outputs);
                        }
                    }
                });
    }

    private static void allGatherSingle(
            Rank rank, long[] counts, List<Tensor> outputs, List<Tensor> inputs) {
        DataType type = inputs.get(0).dataType();
        for (int t = 0; t < counts.length; t++) {
            rank.backend().write(inputs.get(t), pattern(type, rank.rank(), t, counts[t]));
        }
        rank.group().allGatherSingle(outputs, inputs).await();
        for (int t = 0; t < counts.length; t++) {
            String what = what("allGatherSingle", type, counts, t);
            rank.expect(inputs.get(t), pattern(type, rank.rank(), t, counts[t]), what);
            for (int other = 0; other < rank.size(); other++) {
                rank.expect(
                        outputs.get(t).slice(other * counts[t], counts[t]),
                        pattern(type, other, t, counts[t]),
                        what + " of rank " + other);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4})
    void reduceScatterSingleReducesEach(int size) {
        onRanks(
                size,
                rank -> {
                    for (DataType type : reducedTypes(rank)) {
                        for (long[] counts : listsOf(rank, type)) {
                            for (List<Tensor> outputs : lists(rank, type, counts)) {
                                reduceScatterSingle(rank, type, counts, outputs);
                                close(outputs);
                            }
                        }
                    }
                });
    }

    private static void reduceScatterSingle(
            Rank rank, DataType type, long[] counts, List<Tensor> outputs) {
        int size = rank.size();
        List<Tensor> inputs = rank.apart(type, times(counts, size));
        for (int t = 0; t < counts.length; t++) {
            int tensor = t;
            write(
                    rank,
                    inputs.get(t),
                    values(size * counts[t], i -> value(rank.rank(), tensor, i)));
        }
        rank.group().reduceScatterSingle(outputs, inputs, SUM).await();
        for (int t = 0; t < counts.length; t++) {
            int tensor = t;
            int from = Math.toIntExact(rank.rank() * counts[t]);
            String what = what("reduceScatterSingle", type, counts, t);
            rank.expect(outputs.get(t), values(counts[t], i -> sum(size, tensor, from + i)), what);
            rank.expect(
                    inputs.get(t),
                    values(size * counts[t], i -> value(rank.rank(), tensor, i)),
                    what + " input");
        }

        List<Tensor> own = new ArrayList<>();
        for (int t = 0; t < counts.length; t++) {
            own.add(inputs.get(t).slice(rank.rank() * counts[t], counts[t]));
        }
        rank.group().reduceScatterSingle(own, inputs, SUM).await();
        for (int t = 0; t < counts.length; t++) {
            int tensor = t;
            int from = Math.toIntExact(rank.rank() * counts[t]);
            rank.expect(
                    own.get(t),
                    values(counts[t], i -> sum(size, tensor, from + i)),
                    what("reduceScatterSingle in place", type, counts, t));
        }
        close(inputs);
    }

    /** Many at once, of both kinds, awaited in any order. */
    @Test
    void listsAndSingleTensorsAreOutstandingTogether() {
        onRanks(
                3,
                rank -> {
                    List<Tensor> tensors = new ArrayList<>();
                    List<Work> works = new ArrayList<>();
                    for (int i = 0; i < 20; i++) {
                        Tensor tensor = rank.floats(rank.rank() + i, i, 7);
                        tensors.add(tensor);
                        works.add(rank.group().allReduce(tensor.slice(1, 1), SUM));
                        works.add(
                                rank.group()
                                        .allReduce(
                                                List.of(tensor.slice(2, 1), tensor.slice(0, 1)),
                                                SUM));
                    }
                    Collections.reverse(works);
                    works.forEach(Work::await);
                    for (int i = 0; i < tensors.size(); i++) {
                        rank.expect(tensors.get(i), new long[] {3 + 3 * i, 3 * i, 21}, "all");
                    }
                });
    }

    /** The list is the caller's again when the method returns. */
    @Test
    void listsAreReadOnce() {
        onRanks(
                2,
                rank -> {
                    List<Tensor> meant = List.of(rank.floats(1, 2), rank.floats(3));
                    List<Tensor> later = List.of(rank.filled(99, 5), rank.filled(99, 5));
                    rank.group().allReduce(new ChangingList<>(meant, later), SUM).await();
                    rank.expect(meant.get(0), new long[] {2, 4}, "first");
                    rank.expect(meant.get(1), new long[] {6}, "second");
                    rank.expect(later.get(0), rank.backend().read(rank.filled(99, 5)), "later");
                });
    }

    @Test
    void wrongListsAreRefusedAndLeaveTheGroupAsItWas() {
        onRanks(
                2,
                rank -> {
                    wrongCalls(rank)
                            .forEach(
                                    (message, call) ->
                                            assertThatThrownBy(call)
                                                    .as(message)
                                                    .isInstanceOf(UsageException.class)
                                                    .hasMessageContaining(message));
                    List<Tensor> good = List.of(rank.floats(1), rank.floats(2));
                    rank.group().allReduce(good, SUM).await();
                    rank.expect(good.get(1), new long[] {4}, "after what was refused");
                });
    }

    private static Map<String, ThrowingCallable> wrongCalls(Rank rank) {
        ProcessGroup group = rank.group();
        Tensor closed = rank.backend().allocate(DataType.FLOAT32, 3);
        closed.close();
        Tensor four = rank.floats(1, 2, 3, 4);
        List<Tensor> ones = List.of(rank.floats(1), rank.floats(1));
        List<Tensor> mixed = List.of(rank.floats(1), rank.tensor(DataType.INT32, 1));
        List<Tensor> noTensors = null;
        Map<String, ThrowingCallable> calls = new LinkedHashMap<>();
        calls.put("tensors is null", () -> group.allReduce(noTensors, SUM));
        calls.put("tensors is empty", () -> group.broadcast(List.of(), 0));
        calls.put(
                "tensors.get(1) is null",
                () -> group.allReduce(Arrays.asList(rank.floats(1), null), SUM));
        calls.put("tensors.get(1) is int32", () -> group.allReduce(mixed, SUM));
        calls.put("reduce op is null", () -> group.allReduce(ones, null));
        calls.put("root must be a rank", () -> group.broadcast(ones, 2));
        calls.put(
                "output 0 and output 1 overlap",
                () -> group.allReduce(List.of(four, four.slice(2, 1)), SUM));
        calls.put("closed", () -> group.allReduce(List.of(rank.floats(1), closed), SUM));
        calls.put(
                "outputs must hold one tensor for each of the 2 of inputs, got 1",
                () -> group.allGatherSingle(List.of(rank.floats(1, 2)), ones));
        calls.put(
                "outputs.get(1) has 1 elements",
                () -> group.allGatherSingle(List.of(rank.floats(1, 2), rank.floats(1)), ones));
        calls.put(
                "output 0 and an input overlap",
                () ->
                        group.allGatherSingle(
                                List.of(four, rank.floats(1, 2)),
                                List.of(rank.floats(1, 2), four.slice(0, 1))));
        calls.put("inputs is null", () -> group.allGatherSingle(ones, noTensors));
        calls.put(
                "inputs must hold one tensor for each of the 2 of outputs, got null",
                () -> group.reduceScatterSingle(ones, noTensors, SUM));
        calls.put("inputs.get(0) has 1 elements", () -> group.reduceScatterSingle(ones, ones, SUM));
        return calls;
    }
}
