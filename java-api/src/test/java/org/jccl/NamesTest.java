package org.jccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.Locale;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Data types, reduce ops and devices as text, and what is defined for what. */
class NamesTest {

    @ParameterizedTest
    @EnumSource
    void dataTypesAreFoundByTheirText(DataType type) {
        assertThat(DataType.parse(type.toString())).isSameAs(type);
        assertThat(DataType.parse(type.name())).isSameAs(type);
    }

    @ParameterizedTest
    @CsvSource({
        "half, FLOAT16",
        "Float, FLOAT32",
        "double, FLOAT64",
        "char, INT8",
        "byte, UINT8",
        "short, INT16",
        "int, INT32",
        "long, INT64",
        "f8e4m3, FLOAT8_E4M3",
        "f8e5m2, FLOAT8_E5M2"
    })
    void dataTypesHaveOtherNames(String name, DataType type) {
        assertThat(DataType.parse(name)).isSameAs(type);
    }

    @Test
    void dataTypesKnowTheirSize() {
        assertThat(List.of(DataType.values()))
                .extracting(DataType::size)
                .containsExactly(1, 1, 2, 4, 8, 2, 2, 4, 8, 1, 1, 1);
    }

    @Test
    void unknownNamesAreRefusedWithTheKnownOnes() {
        assertThatThrownBy(() -> DataType.parse("complex64"))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("complex64")
                .hasMessageContaining("bfloat16");
        assertThatThrownBy(() -> ReduceOp.parse("median"))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("median")
                .hasMessageContaining("SUM AVG PRODUCT");
    }

    @ParameterizedTest
    @ValueSource(strings = {"SUM", "AVG", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR"})
    void reduceOpsAreFoundByName(String name) {
        assertThat(ReduceOp.parse(name)).hasToString(name);
        assertThat(ReduceOp.parse(name.toLowerCase(Locale.ROOT))).isEqualTo(ReduceOp.parse(name));
    }

    @Test
    void reduceOpsCompareWithTheirFactor() {
        assertThat(ReduceOp.parse("prod")).isEqualTo(ReduceOp.PRODUCT);
        assertThat(ReduceOp.premulSum(2)).isEqualTo(ReduceOp.premulSum(2));
        assertThat(ReduceOp.premulSum(2)).isNotEqualTo(ReduceOp.premulSum(3));
        assertThat(ReduceOp.premulSum(2)).hasToString("PREMUL_SUM(2.0)");
        assertThatThrownBy(() -> new ReduceOp(ReduceOp.Kind.SUM, 2))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("premulSum");
        assertThatThrownBy(() -> new ReduceOp(null, 1)).isInstanceOf(UsageException.class);
    }

    @Test
    void averagesAreForFloatsAndBitsForIntegers() {
        for (DataType type : DataType.values()) {
            boolean floats = type.isFloatingPoint() || type.isFloat8();
            assertThat(ReduceOp.SUM.supports(type)).isTrue();
            assertThat(ReduceOp.AVG.supports(type)).as("%s", type).isEqualTo(floats);
            assertThat(ReduceOp.premulSum(2).supports(type)).as("%s", type).isEqualTo(floats);
            assertThat(ReduceOp.BXOR.supports(type)).as("%s", type).isEqualTo(!floats);
        }
    }

    @ParameterizedTest
    @CsvSource({"cpu, cpu, 0", "CPU:0, cpu, 0", "cuda, cuda, 0", "cuda:3, cuda, 3"})
    void devicesAreParsed(String text, String type, int index) {
        assertThat(Device.parse(text)).isEqualTo(new Device(type, index));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", ":", ":1", "cuda:", "cuda:x", "cuda:-1", "cuda:1:2"})
    void malformedDevicesAreRefused(String text) {
        assertThatThrownBy(() -> Device.parse(text)).isInstanceOf(UsageException.class);
    }

    @Test
    void devicesHaveText() {
        assertThat(Device.CPU).hasToString("cpu");
        assertThat(new Device("cuda", 1)).hasToString("cuda:1");
        assertThatThrownBy(() -> new Device("Cuda", 0)).isInstanceOf(UsageException.class);
        assertThatThrownBy(() -> new Device(null, 0)).isInstanceOf(UsageException.class);
        assertThatThrownBy(() -> new Device("cpu", 1))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("index 0");
    }

    @Test
    void nullIsNoName() {
        List<ThrowingCallable> calls =
                List.of(
                        () -> DataType.parse(null),
                        () -> ReduceOp.parse(null),
                        () -> ReduceOp.SUM.supports(null),
                        () -> new FailureContext(null, 0, "", 0));
        for (ThrowingCallable call : calls) {
            assertThatThrownBy(call)
                    .isInstanceOf(UsageException.class)
                    .hasMessageContaining("null");
        }
    }
}
