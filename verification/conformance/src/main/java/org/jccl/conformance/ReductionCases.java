package org.jccl.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.jccl.DataType;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.UsageException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** allReduce, reduce and reduceScatter. */
abstract class ReductionCases extends Cases {

    private static final List<ReduceOp> OPS =
            List.of(
                    ReduceOp.SUM,
                    ReduceOp.AVG,
                    ReduceOp.PRODUCT,
                    ReduceOp.MIN,
                    ReduceOp.MAX,
                    ReduceOp.BAND,
                    ReduceOp.BOR,
                    ReduceOp.BXOR,
                    ReduceOp.premulSum(Samples.FACTOR));

    private interface Reduction {
        void check(Rank rank, Forms form, DataType type, ReduceOp op, int count);
    }

    /**
     * Every type, reduce op and form that the backend reduces. How memory is divided is the same
     * for all ops, but those that also scale: sums of all kinds are for all counts, others for the
     * last one.
     */
    private static void each(Rank rank, int[] counts, Reduction reduction) {
        for (DataType type : DataType.values()) {
            for (ReduceOp op : OPS) {
                if (rank.backend().reduces(op, type)) {
                    for (int count : isSum(op) ? counts : last(counts)) {
                        for (Forms form : Forms.of(rank.group())) {
                            reduction.check(rank, form, type, op, count);
                        }
                    }
                }
            }
        }
    }

    private static boolean isSum(ReduceOp op) {
        return switch (op.kind()) {
            case SUM, AVG, PREMUL_SUM -> true;
            case PRODUCT, MIN, MAX, BAND, BOR, BXOR -> false;
        };
    }

    private static int[] last(int[] counts) {
        return new int[] {counts[counts.length - 1]};
    }

    private static Tensor input(Rank rank, DataType type, ReduceOp op, int count) {
        return rank.tensor(type, Samples.inputs(type, op, rank.rank(), rank.size(), count));
    }

    private static long[] expected(Rank rank, DataType type, ReduceOp op, int count) {
        return Samples.reduced(type, op, rank.size(), count);
    }

    private static String what(Object... parts) {
        return Arrays.toString(parts);
    }

    /**
     * Exact, but for AVG: the library may multiply with a rounded reciprocal instead, before it
     * adds. Then even an average of 0 has the rounding errors of what was added.
     */
    private static void expect(
            Rank rank, Tensor tensor, ReduceOp op, long[] expected, String what) {
        if (op.kind() != ReduceOp.Kind.AVG) {
            rank.expect(tensor, expected, what);
            return;
        }
        double[] found = Elements.decode(tensor.dataType(), rank.backend().read(tensor));
        double added = rank.size() * roundingError(tensor.dataType());
        for (int i = 0; i < found.length; i++) {
            assertThat(found[i])
                    .as("rank %d: %s, element %d", rank.rank(), what, i)
                    .isCloseTo(expected[i], within(0.02 * Math.abs(expected[i]) + added));
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5})
    void allReduceGivesAllRanksTheResult(int size) {
        onRanks(
                size,
                me ->
                        each(
                                me,
                                COUNTS,
                                (rank, form, type, op, count) -> {
                                    Tensor tensor = input(rank, type, op, count);
                                    form.allReduce(tensor, op);
                                    expect(
                                            rank,
                                            tensor,
                                            op,
                                            expected(rank, type, op, count),
                                            what("allReduce", form, type, op, count));
                                }));
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5})
    void reduceGivesTheRootTheResultAndChangesNobodyElse(int size) {
        onRanks(
                size,
                me ->
                        each(
                                me,
                                new int[] {0, 17},
                                (rank, form, type, op, count) -> {
                                    for (int root = 0; root < size; root++) {
                                        Tensor tensor = input(rank, type, op, count);
                                        byte[] before = rank.backend().read(tensor);
                                        form.reduce(tensor, root, op);
                                        String what = what("reduce", form, type, op, count, root);
                                        if (rank.rank() == root) {
                                            long[] expected = expected(rank, type, op, count);
                                            expect(rank, tensor, op, expected, what);
                                        } else {
                                            rank.expect(tensor, before, what);
                                        }
                                    }
                                }));
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5})
    void reduceScatterSingleLeavesEachRankItsPart(int size) {
        onRanks(
                size,
                me ->
                        each(
                                me,
                                new int[] {0, 1, 17, 300},
                                (rank, form, type, op, count) -> {
                                    Tensor input = input(rank, type, op, count * size);
                                    byte[] before = rank.backend().read(input);
                                    Tensor output = rank.blank(type, count);
                                    form.reduceScatterSingle(output, input, op);
                                    String what =
                                            what("reduceScatterSingle", form, type, op, count);
                                    long[] all = expected(rank, type, op, count * size);
                                    int from = rank.rank() * count;
                                    long[] part = Arrays.copyOfRange(all, from, from + count);
                                    expect(rank, output, op, part, what);
                                    rank.expect(input, before, what + " input");
                                }));
    }

    /** As NCCL's in-place form. Which ranks use it is their own affair. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5})
    void reduceScatterWritesToItsOwnPart(int size) {
        onRanks(
                size,
                me ->
                        each(
                                me,
                                new int[] {0, 1, 2, 17, 300},
                                (rank, form, type, op, count) -> {
                                    Tensor input = input(rank, type, op, count * size);
                                    List<Tensor> parts = new ArrayList<>();
                                    for (int i = 0; i < size; i++) {
                                        parts.add(input.slice((long) i * count, count));
                                    }
                                    int from = rank.rank() * count;
                                    Tensor own = parts.get(rank.rank());
                                    boolean inPlace = (rank.rank() + count) % 3 != 1;
                                    Tensor output = inPlace ? own : rank.blank(type, count);
                                    byte[] others = rank.backend().read(input);
                                    boolean list = count % 2 == 0;
                                    if (list) {
                                        form.reduceScatter(output, parts, op);
                                    } else {
                                        form.reduceScatterSingle(output, input, op);
                                    }
                                    String what =
                                            what("in place", form, type, op, count, list, inPlace);
                                    long[] all = expected(rank, type, op, count * size);
                                    expect(
                                            rank,
                                            output,
                                            op,
                                            Arrays.copyOfRange(all, from, from + count),
                                            what);
                                    byte[] now = rank.backend().read(own);
                                    System.arraycopy(
                                            now, 0, others, from * type.size(), now.length);
                                    rank.expect(input, others, what + " other parts");
                                }));
    }

    @Tag("uneven")
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5})
    void reduceScatterTakesPartsOfAnySizeFromAnywhere(int size) {
        List<long[]> layouts =
                List.of(
                        IntStream.range(0, size).mapToLong(i -> 5).toArray(),
                        IntStream.range(0, size).mapToLong(i -> i * 3).toArray(),
                        IntStream.range(0, size).mapToLong(i -> i == size - 1 ? 0 : 7).toArray());
        onRanks(
                size,
                me ->
                        each(
                                me,
                                new int[] {0, 1, 2},
                                (rank, form, type, op, layout) -> {
                                    long[] counts = layouts.get(layout);
                                    reduceScatter(rank, form, type, op, counts, true);
                                    reduceScatter(rank, form, type, op, counts, false);
                                }));
    }

    private static void reduceScatter(
            Rank rank, Forms form, DataType type, ReduceOp op, long[] counts, boolean adjacent) {
        int total = (int) Arrays.stream(counts).sum();
        Tensor whole = input(rank, type, op, total);
        long[] all = expected(rank, type, op, total);
        List<Tensor> inputs = new ArrayList<>();
        int offset = 0;
        long[] part = null;
        for (int i = 0; i < counts.length; i++) {
            int end = offset + (int) counts[i];
            Tensor slice = whole.slice(offset, counts[i]);
            inputs.add(adjacent ? slice : rank.bytes(type, rank.backend().read(slice)));
            if (i == rank.rank()) {
                part = Arrays.copyOfRange(all, offset, end);
            }
            offset = end;
        }
        Tensor output = rank.blank(type, (int) counts[rank.rank()]);
        form.reduceScatter(output, inputs, op);
        String what = what("reduceScatter", form, type, op, Arrays.toString(counts), adjacent);
        expect(rank, output, op, part, what);

        if (rank.rank() % 2 == 0) {
            output = inputs.get(rank.rank());
        }
        form.reduceScatter(output, inputs, op);
        expect(rank, output, op, part, what + " in place on some ranks");
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3, 5})
    void reducesLargeTensors(int size) {
        onRanks(
                size,
                rank -> {
                    for (Forms form : Forms.of(rank.group())) {
                        DataType type = DataType.FLOAT32;
                        ReduceOp op = ReduceOp.SUM;
                        Tensor tensor = input(rank, type, op, LARGE);
                        form.allReduce(tensor, op);
                        rank.expect(tensor, expected(rank, type, op, LARGE), "large allReduce");

                        tensor = input(rank, type, op, LARGE);
                        form.reduce(tensor, size - 1, op);
                        if (rank.rank() == size - 1) {
                            rank.expect(tensor, expected(rank, type, op, LARGE), "large reduce");
                        }

                        int part = LARGE / size;
                        Tensor output = rank.blank(type, part);
                        form.reduceScatterSingle(output, input(rank, type, op, part * size), op);
                        long[] all = expected(rank, type, op, part * size);
                        rank.expect(
                                output,
                                Arrays.copyOfRange(
                                        all, rank.rank() * part, (rank.rank() + 1) * part),
                                "large reduceScatterSingle");

                        Tensor whole = input(rank, type, op, part * size);
                        Tensor own = whole.slice((long) rank.rank() * part, part);
                        form.reduceScatterSingle(own, whole, op);
                        rank.expect(
                                own,
                                Arrays.copyOfRange(
                                        all, rank.rank() * part, (rank.rank() + 1) * part),
                                "large reduceScatterSingle in place");
                    }
                });
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3, 4, 5})
    void roundedSumsAreTheSameBitsOnAllRanks(int size) {
        int count = 4099;
        onRanks(
                size,
                rank -> {
                    for (DataType type : DataType.values()) {
                        if (!type.isFloatingPoint()
                                || !rank.backend().reduces(ReduceOp.SUM, type)) {
                            continue;
                        }
                        double[] sums = new double[count];
                        double[] mine = null;
                        for (int other = 0; other < size; other++) {
                            Random random = new Random(other);
                            double[] values = random.doubles(count, -1, 1).toArray();
                            // What a rank gives is rounded to its type before it is added.
                            values = Elements.decode(type, Elements.encode(type, values));
                            mine = other == rank.rank() ? values : mine;
                            for (int i = 0; i < count; i++) {
                                sums[i] += values[i];
                            }
                        }
                        Tensor tensor = rank.bytes(type, Elements.encode(type, mine));
                        rank.group().allReduce(tensor, ReduceOp.SUM).await();

                        double[] found = Elements.decode(type, rank.backend().read(tensor));
                        for (int i = 0; i < count; i++) {
                            assertThat(found[i])
                                    .as("%s, element %d", type, i)
                                    .isCloseTo(sums[i], within(size * roundingError(type)));
                        }
                        Tensor all = rank.blank(type, count * size);
                        rank.group().allGatherSingle(all, tensor).await();
                        for (int other = 0; other < size; other++) {
                            byte[] theirs =
                                    rank.backend().read(all.slice((long) other * count, count));
                            rank.expect(tensor, theirs, "bits of rank " + other + " for " + type);
                        }
                    }
                });
    }

    /** Largest rounding error of one addition whose result is below 8. */
    private static double roundingError(DataType type) {
        int fractionBits =
                switch (type) {
                    case BFLOAT16 -> 7;
                    case FLOAT16 -> 10;
                    case FLOAT32 -> 23;
                    default -> 52;
                };
        return 4 * Math.scalb(1.0, -fractionBits);
    }

    /** As in Java, also in the short tail that vector instructions leave to others. */
    @Test
    void integersThatOverflowWrapAround() {
        int size = 3;
        int count = 300;
        onRanks(
                size,
                me -> {
                    for (Forms form : Forms.of(me.group())) {
                        for (DataType type : DataType.values()) {
                            if (!type.isInteger()) {
                                continue;
                            }
                            long[] values = new long[count];
                            long[] sums = new long[count];
                            long[] products = new long[count];
                            for (int i = 0; i < count; i++) {
                                values[i] = wrapped(type, i % 2 == 0 ? Long.MAX_VALUE - i : 60 + i);
                                sums[i] = wrapped(type, size * values[i]);
                                products[i] = wrapped(type, values[i] * values[i] * values[i]);
                            }
                            overflow(me, form, type, ReduceOp.SUM, values, sums);
                            overflow(me, form, type, ReduceOp.PRODUCT, values, products);
                        }
                    }
                });
    }

    /** The sum of the inputs has no number in the type, their average has one. */
    @Test
    void averagesOf16BitTypesAreFiniteWhereTheBackendSaysSo() {
        int size = 4;
        onRanks(
                size,
                me -> {
                    average(me, DataType.FLOAT16, 65504 / 2.0);
                    average(me, DataType.BFLOAT16, 0x1.fep127 / 2);
                });
    }

    private static void average(Rank rank, DataType type, double each) {
        if (!rank.backend().reduces(ReduceOp.AVG, type)) {
            return;
        }
        int size = rank.size();
        int part = 7;
        double[] values = new double[size * part];
        Arrays.fill(values, each);
        byte[] input = Elements.encode(type, values);
        for (Forms form : Forms.of(rank.group())) {
            Tensor all = rank.bytes(type, input);
            form.allReduce(all, ReduceOp.AVG);
            expectAverage(rank, all, each, what("allReduce", form, type));

            Tensor one = rank.bytes(type, input);
            form.reduce(one, size - 1, ReduceOp.AVG);
            if (rank.rank() == size - 1) {
                expectAverage(rank, one, each, what("reduce", form, type));
            }

            Tensor whole = rank.bytes(type, input);
            Tensor own = rank.blank(type, part);
            form.reduceScatterSingle(own, whole, ReduceOp.AVG);
            expectAverage(rank, own, each, what("reduceScatterSingle", form, type));
            rank.expect(whole, input, "input of reduceScatterSingle");

            long[] counts = IntStream.range(1, size + 1).asLongStream().toArray();
            List<Tensor> parts = rank.adjacent(type, counts);
            for (Tensor each16 : parts) {
                rank.backend()
                        .write(
                                each16,
                                Arrays.copyOf(
                                        input, Math.toIntExact(each16.count()) * type.size()));
            }
            Tensor mine = rank.blank(type, rank.rank() + 1);
            form.reduceScatter(mine, parts, ReduceOp.AVG);
            expectAverage(rank, mine, each, what("reduceScatter", form, type));
        }
    }

    private static void expectAverage(Rank rank, Tensor tensor, double expected, String what) {
        boolean scales = rank.group().scalesAverages(tensor.device().type());
        for (double found : Elements.decode(tensor.dataType(), rank.backend().read(tensor))) {
            if (scales || Double.isFinite(found)) {
                assertThat(found).as(what).isCloseTo(expected, within(expected / 100));
            }
        }
    }

    private static void overflow(
            Rank rank, Forms form, DataType type, ReduceOp op, long[] values, long[] expected) {
        if (rank.backend().reduces(op, type)) {
            Tensor tensor = rank.tensor(type, values);
            form.allReduce(tensor, op);
            rank.expect(tensor, expected, what("allReduce that overflows", form, type, op));
        }
    }

    private static long wrapped(DataType type, long value) {
        return switch (type) {
            case INT8 -> (byte) value;
            case UINT8 -> value & 0xff;
            case INT16 -> (short) value;
            case INT32 -> (int) value;
            default -> value;
        };
    }

    @Test
    void whatCanNotBeReducedIsRefusedAndTheGroupStaysUsable() {
        onRanks(
                2,
                rank -> {
                    for (DataType type : DataType.values()) {
                        for (ReduceOp op : OPS) {
                            if (rank.backend().refuses(op, type)) {
                                refused(rank, type, op);
                            }
                        }
                    }
                    Tensor one = rank.floats(1);
                    rank.group().allReduce(one, ReduceOp.SUM).await();
                    rank.expect(one, new long[] {2}, "after refusals");
                });
    }

    private static void refused(Rank rank, DataType type, ReduceOp op) {
        Tensor tensor = rank.blank(type, 2);
        Tensor part = rank.blank(type, 1);
        for (Forms form : Forms.of(rank.group())) {
            assertThatThrownBy(() -> form.allReduce(tensor, op))
                    .as("%s of %s", op, type)
                    .isInstanceOf(UsageException.class)
                    .hasMessageContaining(type.toString())
                    .hasMessageContaining("rank " + rank.rank());
            assertThatThrownBy(() -> form.reduce(tensor, 0, op)).isInstanceOf(UsageException.class);
            assertThatThrownBy(() -> form.reduceScatterSingle(part, tensor, op))
                    .isInstanceOf(UsageException.class);
        }
    }
}
