package org.jccl.nccl;

import static org.assertj.core.api.Assertions.assertThat;

import org.bytedeco.cuda.global.nccl;
import org.jccl.DataType;
import org.jccl.ReduceOp;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class NcclTypesTest {

    @ParameterizedTest
    @CsvSource({
        "1, 3c00",
        "-2, c000",
        "0.333333343, 3555",
        "65504, 7bff",
        "65519.99, 7bff",
        "65520, 7c00",
        "1e9, 7c00",
        "5.9604645e-8, 1",
        "2.9802322e-8, 0",
        "6.1035156e-5, 400",
        "1.00048828125, 3c00",
        "1.00146484375, 3c02",
        "NaN, 7e00",
        "-Infinity, fc00"
    })
    void factorsRoundToNearestEvenFloat16(double factor, String bits) {
        assertThat(NcclTypes.scalarBits(factor, DataType.FLOAT16))
                .isEqualTo(Long.parseLong(bits, 16));
    }

    @ParameterizedTest
    @CsvSource({"1, 3f80", "-2, ffffc000", "0.3333333, 3eab", "1.00390625, 3f80", "NaN, 7fc0"})
    void factorsRoundToNearestEvenBfloat16(double factor, String bits) {
        assertThat(NcclTypes.scalarBits(factor, DataType.BFLOAT16) & 0xffff)
                .isEqualTo(Long.parseLong(bits, 16) & 0xffff);
    }

    @Test
    void otherFactorsKeepTheirBits() {
        assertThat(NcclTypes.scalarBits(0.1, DataType.FLOAT64))
                .isEqualTo(Double.doubleToRawLongBits(0.1));
        assertThat(NcclTypes.scalarBits(0.1, DataType.FLOAT32))
                .isEqualTo(Float.floatToRawIntBits(0.1f));
    }

    @Test
    void boolReducesAsOrAndAnd() {
        assertThat(NcclTypes.op(ReduceOp.SUM, DataType.BOOL)).isEqualTo(nccl.ncclMax);
        assertThat(NcclTypes.op(ReduceOp.PRODUCT, DataType.BOOL)).isEqualTo(nccl.ncclMin);
        assertThat(NcclTypes.op(ReduceOp.SUM, DataType.UINT8)).isEqualTo(nccl.ncclSum);
        assertThat(NcclTypes.reduces(ReduceOp.AVG, DataType.BOOL, true)).isFalse();
    }

    @Test
    void whatNcclLacksIsNotReduced() {
        assertThat(NcclTypes.reduces(ReduceOp.SUM, DataType.INT16, true)).isFalse();
        assertThat(NcclTypes.reduces(ReduceOp.BAND, DataType.INT32, true)).isFalse();
        assertThat(NcclTypes.reduces(ReduceOp.SUM, DataType.FLOAT8_E4M3, false)).isFalse();
        assertThat(NcclTypes.reduces(ReduceOp.SUM, DataType.FLOAT8_E4M3, true)).isTrue();
        assertThat(NcclTypes.reduces(ReduceOp.premulSum(2), DataType.FLOAT8_E5M2, true)).isFalse();
    }

    @Test
    void int16MovesAsPairsOfBytes() {
        assertThat(NcclTypes.type(DataType.INT16, true)).isEqualTo(nccl.ncclUint8);
        assertThat(NcclTypes.count(DataType.INT16, 5)).isEqualTo(10);
        assertThat(NcclTypes.count(DataType.FLOAT16, 5)).isEqualTo(5);
    }
}
