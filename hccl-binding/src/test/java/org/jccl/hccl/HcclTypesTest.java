package org.jccl.hccl;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.jccl.DataType;
import org.jccl.ReduceOp;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class HcclTypesTest {

    @ParameterizedTest
    @CsvSource({
        "Ascend950PR_9589, ASCEND_950",
        "Ascend910_9589, ASCEND_950",
        "Ascend910_9691, ASCEND_950",
        "Ascend910_9391, ASCEND_910_93",
        "Ascend910_9362, ASCEND_910_93",
        "Ascend910B3, ASCEND_910B",
        "Ascend910B2C, ASCEND_910B",
        "Ascend910B4-1, ASCEND_910B",
        "Ascend910B, ASCEND_910",
        "Ascend910, ASCEND_910",
        "Ascend910PremiumA, ASCEND_910",
        "Ascend910A, ASCEND_910",
        "Ascend910ProB, ASCEND_910",
        "Ascend910_5591, OTHER",
        "'', OTHER"
    })
    void chipIsKnownByItsName(String name, Chip chip) {
        assertThat(Chip.of(name)).isEqualTo(chip);
    }

    @Test
    void typesMoveAsTheirOwnNumbersOrAsBytes() {
        List<Integer> moved =
                List.of(
                                DataType.INT8,
                                DataType.INT16,
                                DataType.INT32,
                                DataType.FLOAT16,
                                DataType.FLOAT32,
                                DataType.INT64)
                        .stream()
                        .map(HcclTypesTest::moved)
                        .toList();
        assertThat(moved).containsExactly(0, 1, 2, 3, 4, 5);
        assertThat(moved(DataType.UINT8)).isEqualTo(7);
        assertThat(moved(DataType.BOOL)).isEqualTo(7);
        assertThat(moved(DataType.FLOAT8_E4M3)).isEqualTo(7);
        assertThat(moved(DataType.FLOAT8_E5M2)).isEqualTo(7);
        assertThat(moved(DataType.FLOAT64)).isEqualTo(10);
        assertThat(moved(DataType.BFLOAT16)).isEqualTo(11);
        assertThat(HcclTypes.moved(DataType.BFLOAT16, Chip.ASCEND_910)).isEqualTo(1);
    }

    private static int moved(DataType type) {
        return HcclTypes.moved(type, Chip.ASCEND_910B);
    }

    @Test
    void boolReducesAsOrAndAnd() {
        assertThat(kind(ReduceOp.SUM)).isEqualTo(ReduceOp.Kind.MAX);
        assertThat(kind(ReduceOp.BOR)).isEqualTo(ReduceOp.Kind.MAX);
        assertThat(kind(ReduceOp.PRODUCT)).isEqualTo(ReduceOp.Kind.MIN);
        assertThat(kind(ReduceOp.BAND)).isEqualTo(ReduceOp.Kind.MIN);
        assertThat(HcclTypes.reduces(Chip.ASCEND_910B, ReduceOp.BXOR, DataType.BOOL, true))
                .isFalse();
        assertThat(HcclTypes.reduces(Chip.ASCEND_910B, ReduceOp.BAND, DataType.INT32, true))
                .isFalse();
    }

    private static ReduceOp.Kind kind(ReduceOp op) {
        return HcclTypes.kind(op, DataType.BOOL);
    }

    @Test
    void whatNeedsOperatorsIsRefusedWithoutThem() {
        Chip chip = Chip.ASCEND_910B;
        assertThat(HcclTypes.reduces(chip, ReduceOp.AVG, DataType.FLOAT32, false)).isFalse();
        assertThat(HcclTypes.reduces(chip, ReduceOp.AVG, DataType.FLOAT32, true)).isTrue();
        assertThat(HcclTypes.reduces(chip, ReduceOp.MAX, DataType.UINT8, true)).isFalse();
        ReduceOp scaled = ReduceOp.premulSum(2);
        assertThat(HcclTypes.reduces(chip, scaled, DataType.FLOAT32, true)).isFalse();
        assertThat(HcclTypes.reduces(chip, ReduceOp.AVG, DataType.FLOAT64, true)).isFalse();
    }
}
