package org.jccl.sccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.jccl.DataType;
import org.jccl.ReduceOp;
import org.jccl.conformance.Elements;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

final class ScclTypesTest {

    @ParameterizedTest
    @CsvSource({"SUM, 1", "MAX, 2", "MIN, 3", "PRODUCT, 4", "AVG, 1"})
    void operationsHaveTheVendorsNumbers(String op, int number) {
        assertThat(ScclTypes.op(ReduceOp.parse(op))).isEqualTo(number);
    }

    @Test
    void whatMakesTheLibraryThrowHasNoNumber() {
        for (ReduceOp op : new ReduceOp[] {ReduceOp.BAND, ReduceOp.BOR, ReduceOp.premulSum(2)}) {
            assertThatThrownBy(() -> ScclTypes.op(op)).isInstanceOf(IllegalArgumentException.class);
        }
    }

    @ParameterizedTest
    @EnumSource
    void everyTypeMovesAllItsBytes(DataType type) {
        int bytes =
                switch (ScclTypes.type(type)) {
                    case ScclTypes.UINT8, ScclTypes.INT8 -> 1;
                    case ScclTypes.FLOAT16, ScclTypes.BFLOAT16 -> 2;
                    case ScclTypes.FLOAT32, ScclTypes.INT32 -> 4;
                    case ScclTypes.INT64 -> 8;
                    default -> 0;
                };
        assertThat(ScclTypes.count(type, 3) * bytes).isEqualTo(3L * type.size());
    }

    @ParameterizedTest
    @EnumSource
    void whatIsReducedGoesAsItsOwnType(DataType type) {
        if (ScclTypes.reduces(ReduceOp.SUM, type)) {
            assertThat(ScclTypes.type(type)).isIn(0, 1, 6, 8);
            assertThat(ScclTypes.count(type, 5)).isEqualTo(5);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 5, 6, 7, 11, 15, 16})
    void factorsAreRoundedToNearest(int ranks) {
        float factor = 1f / ranks;
        assertThat(Averages.float16(factor)).isEqualTo(bits(DataType.FLOAT16, factor));
        assertThat(Averages.bfloat16(factor)).isEqualTo(bits(DataType.BFLOAT16, factor));
    }

    private static short bits(DataType type, float value) {
        byte[] bytes = Elements.encode(type, new double[] {value});
        return java.nio.ByteBuffer.wrap(bytes).order(java.nio.ByteOrder.nativeOrder()).getShort();
    }
}
