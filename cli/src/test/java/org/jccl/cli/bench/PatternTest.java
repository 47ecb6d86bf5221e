package org.jccl.cli.bench;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

final class PatternTest {

    private static final int RANKS = 3;

    static List<Arguments> reductions() {
        List<Arguments> cases = new ArrayList<>();
        for (DataType type : DataType.values()) {
            for (ReduceOp.Kind kind : ReduceOp.Kind.values()) {
                ReduceOp op = new ReduceOp(kind, 1);
                if (op.supports(type) && !type.isFloat8()) {
                    cases.add(Arguments.of(type, op));
                }
            }
        }
        return cases;
    }

    @ParameterizedTest
    @MethodSource("reductions")
    void expectsWhatReducingElementByElementGives(DataType type, ReduceOp op) {
        Pattern pattern = new Pattern(type, Optional.of(op), RANKS);
        for (int index = 0; index < Pattern.PERIOD; index++) {
            Object element = Elements.newArray(type, 1);
            Elements.set(type, element, 0, pattern.reduced(index));
            double expected = stepByStep(type, op, pattern, index);
            assertThat(Elements.get(type, element, 0)).isEqualTo(expected);
        }
    }

    /** Rounds to the type after each rank, as a library does. */
    private static double stepByStep(DataType type, ReduceOp op, Pattern pattern, int index) {
        Object element = Elements.newArray(type, 1);
        Elements.set(type, element, 0, pattern.input(0, index));
        for (int rank = 1; rank < RANKS; rank++) {
            double left = Elements.get(type, element, 0);
            double right = pattern.input(rank, index);
            double combined =
                    switch (op.kind()) {
                        case SUM, AVG, PREMUL_SUM -> left + right;
                        case PRODUCT -> left * right;
                        case MIN -> left < right ? left : right;
                        case MAX -> left > right ? left : right;
                        case BAND -> (long) left & (long) right;
                        case BOR -> (long) left | (long) right;
                        case BXOR -> (long) left ^ (long) right;
                    };
            Elements.set(type, element, 0, combined);
        }
        if (op.kind() == ReduceOp.Kind.AVG) {
            Elements.set(type, element, 0, Elements.get(type, element, 0) / RANKS);
        }
        return Elements.get(type, element, 0);
    }

    @ParameterizedTest
    @EnumSource(DataType.class)
    void findsExactlyTheWrongElements(DataType type) {
        Pattern pattern = new Pattern(type, Optional.empty(), RANKS);
        long count = 100_000;
        try (Tensor tensor = Tensor.allocate(Device.CPU, type, count)) {
            pattern.fill(tensor, index -> pattern.input(1, index));
            assertThat(pattern.wrong(tensor, index -> pattern.input(1, index))).isZero();
            for (long place : new long[] {0, 40_000, count - 1}) {
                Object one = Elements.newArray(type, 1);
                Elements.set(type, one, 0, pattern.input(1, place) == 0 ? 1 : 0);
                tensor.slice(place, 1).copyFrom(one);
            }
            assertThat(pattern.wrong(tensor, index -> pattern.input(1, index))).isEqualTo(3);
        }
    }

    @ParameterizedTest
    @EnumSource(DataType.class)
    void tellsRanksAndNeighboursApart(DataType type) {
        Pattern pattern = new Pattern(type, Optional.empty(), RANKS);
        assertThat(pattern.input(0, 0)).isNotEqualTo(pattern.input(1, 0));
        assertThat(pattern.input(0, 0)).isNotEqualTo(pattern.input(0, 1));
    }

    @Test
    void anAverageMayBeRounded() {
        Pattern average = new Pattern(DataType.FLOAT32, Optional.of(ReduceOp.AVG), RANKS);
        Pattern sum = new Pattern(DataType.FLOAT32, Optional.of(ReduceOp.SUM), RANKS);
        try (Tensor tensor = Tensor.copyOf(new float[] {Math.nextUp(2f), Float.NaN, 2.001f})) {
            assertThat(average.wrong(tensor, index -> 2)).isEqualTo(2);
            assertThat(sum.wrong(tensor, index -> 2)).isEqualTo(3);
        }
    }

    @Test
    void equalInfinitiesAreRight() {
        Pattern product = new Pattern(DataType.FLOAT16, Optional.of(ReduceOp.PRODUCT), RANKS);
        try (Tensor tensor = Tensor.allocate(Device.CPU, DataType.FLOAT16, 4)) {
            product.fill(tensor, index -> 1e9);
            assertThat(product.wrong(tensor, index -> 1e9)).isZero();
            assertThat(product.wrong(tensor, index -> 1)).isEqualTo(4);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "FLOAT16,0",
        "FLOAT16,1",
        "FLOAT16,-2",
        "FLOAT16,126",
        "FLOAT16,65504",
        "FLOAT16,0.33325195",
        "FLOAT16,0.000060975552",
        "FLOAT16,0.000000059604645",
        "BFLOAT16,0",
        "BFLOAT16,1",
        "BFLOAT16,-2",
        "BFLOAT16,126",
        "BFLOAT16,0.33398438"
    })
    void sixteenBitFloatsKeepWhatTheyCanHold(DataType type, float value) {
        Object array = Elements.newArray(type, 1);
        Elements.set(type, array, 0, value);
        assertThat((float) Elements.get(type, array, 0)).isEqualTo(value);
    }

    @ParameterizedTest
    @CsvSource({"FLOAT16,2049,2048", "FLOAT16,2051,2052", "BFLOAT16,257,256", "BFLOAT16,259,260"})
    void sixteenBitFloatsRoundToEven(DataType type, float value, double rounded) {
        Object array = Elements.newArray(type, 1);
        Elements.set(type, array, 0, value);
        assertThat(Elements.get(type, array, 0)).isEqualTo(rounded);
    }
}
