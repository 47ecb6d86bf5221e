package org.jccl.sccl;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jccl.sccl.abi.UniqueId;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * What is mapped here, beside what the mocks are built with. Both were written from the vendor's
 * headers, by different people.
 */
final class AbiTest {

    private static final Map<String, String> LISTING = new HashMap<>();

    @BeforeAll
    static void readListing() throws Exception {
        Path libraries = Path.of(System.getProperty("org.jccl.sccl.library")).getParent();
        Path program = libraries.resolve("../../abi-sccl").normalize();
        Process process = new ProcessBuilder(program.toString()).start();
        String text = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).isZero();
        text.lines().map(line -> line.split("=", 2)).forEach(pair -> LISTING.put(pair[0], pair[1]));
    }

    static Stream<Method> functions() {
        return Stream.of(Sccl.class, ScclMessages.class, Tpurt.class, Tpudnn.class)
                .flatMap(type -> Arrays.stream(type.getDeclaredMethods()))
                .filter(method -> Modifier.isNative(method.getModifiers()));
    }

    @ParameterizedTest
    @MethodSource("functions")
    void functionsTakeWhatTheVendorsTake(Method function) {
        String parameters =
                Arrays.stream(function.getParameterTypes())
                        .map(AbiTest::kind)
                        .collect(Collectors.joining(","));
        String mapped = kind(function.getReturnType()) + "(" + parameters + ")";
        // A long carries pointers and 64-bit numbers alike.
        String expected =
                LISTING.getOrDefault("function." + function.getName(), "not there")
                        .replace("ptr", "i64")
                        .replace("u64", "i64");
        assertThat(mapped).as("%s", function.getName()).isEqualTo(expected);
    }

    private static String kind(Class<?> type) {
        if (type == int.class) {
            return "i32";
        }
        if (type == UniqueId.ByValue.class) {
            return "struct" + UniqueId.BYTES;
        }
        return type == void.class ? "void" : "i64";
    }

    @Test
    void theUniqueIdHasTheVendorsSize() {
        assertThat(new UniqueId.ByValue().size())
                .hasToString(LISTING.get("struct.scclUniqueId.size"));
        assertThat(LISTING).containsEntry("struct.scclUniqueId.internal.offset", "0");
    }

    @ParameterizedTest
    @CsvSource({
        "FP32, 0",
        "FP16, 1",
        "INT8, 2",
        "UINT8, 3",
        "INT32, 6",
        "BF16, 8",
        "INT64, 14",
    })
    void typesHaveTheVendorsNumbers(String name, int number) {
        assertThat(LISTING).containsEntry("enum.scclDataType_t.SCCL_DTYPE_" + name, "" + number);
        Map<String, Integer> mine =
                Map.of(
                        "FP32", ScclTypes.FLOAT32,
                        "FP16", ScclTypes.FLOAT16,
                        "INT8", ScclTypes.INT8,
                        "UINT8", ScclTypes.UINT8,
                        "INT32", ScclTypes.INT32,
                        "BF16", ScclTypes.BFLOAT16,
                        "INT64", ScclTypes.INT64);
        assertThat(mine).containsEntry(name, number);
    }

    @Test
    void operationsHaveTheVendorsNumbers() {
        String prefix = "enum.scclReduceType_t.SCCL_REDUCE_";
        assertThat(LISTING)
                .containsEntry(prefix + "SUM", "" + ScclTypes.SUM)
                .containsEntry(prefix + "MAX", "" + ScclTypes.MAX)
                .containsEntry(prefix + "MIN", "" + ScclTypes.MIN)
                .containsEntry(prefix + "PROD", "" + ScclTypes.PRODUCT);
    }

    @Test
    void everyCodeOfTheRuntimeHasItsName() {
        LISTING.forEach(
                (name, value) -> {
                    if (name.startsWith("enum.tpuError_t.") && !value.equals("0")) {
                        assertThat(TpuErrors.runtimeText(Integer.parseInt(value)))
                                .startsWith(name.substring("enum.tpuError_t.".length()));
                    }
                });
    }
}
