package org.jccl.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** {@code jccl bench} on tensors of devices, on the mocks that the bindings were tested with. */
@Tag("all")
final class BenchOnDevicesTest {

    private static Path mocks(String module) {
        return Path.of("..", module, "target", "mock").toAbsolutePath().normalize();
    }

    static Stream<Arguments> backends() {
        Path nccl = mocks("nccl-binding");
        Path sccl = mocks("sccl-binding").resolve("torch_tpu/lib");
        return Stream.of(
                Arguments.of(
                        "nccl",
                        "cuda:1",
                        nccl.resolve("libnccl.so.2"),
                        Map.of(
                                "JCCL_NCCL_DRIVER", nccl.resolve("libcuda.so.1"),
                                "JCCL_NCCL_CUDART", nccl.resolve("libcudart.so.13"),
                                "JCCL_NCCL_LIBRARY", nccl.resolve("libnccl.so.2"))),
                Arguments.of(
                        "sccl",
                        "tpu:1",
                        sccl.resolve("libsccl.so"),
                        Map.of(
                                "JCCL_SCCL_TPUDNN", sccl.resolve("libtpudnn.sg2260.so"),
                                "JCCL_SCCL_TPURT", sccl.resolve("libtpurt.sg2260.so"),
                                "JCCL_SCCL_LIBRARY", sccl.resolve("libsccl.so"))));
    }

    /** As {@code ProcessGroup.builder()} does. */
    @Test
    void theBestBackendIsMeasuredIfNoneIsNamed(@TempDir Path folder)
            throws IOException, InterruptedException {
        Object[] nccl = backends().findFirst().orElseThrow().get();
        @SuppressWarnings("unchecked")
        Map<String, Path> variables = (Map<String, Path>) nccl[3];
        measures("nccl", (String) nccl[1], (Path) nccl[2], variables, folder, List.of());
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("backends")
    void measuresAndChecksDevicesMemory(
            String backend,
            String lastDevice,
            Path library,
            Map<String, Path> variables,
            @TempDir Path folder)
            throws IOException, InterruptedException {
        measures(backend, lastDevice, library, variables, folder, List.of("--backend=" + backend));
    }

    private static void measures(
            String backend,
            String lastDevice,
            Path library,
            Map<String, Path> variables,
            Path folder,
            List<String> choice)
            throws IOException, InterruptedException {
        assumeThat(library).as("the mock of " + backend + ", which its tests build").exists();
        Path csv = folder.resolve("all.csv");
        ProcessBuilder builder =
                new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-Dorg.bytedeco.javacpp.cachedir=" + folder.resolve("cache"),
                        "-cp",
                        System.getProperty("java.class.path"),
                        Jccl.class.getName(),
                        "bench",
                        "all_reduce",
                        "-g2",
                        "-b4",
                        "-e64K",
                        "-f128",
                        "--iters=40",
                        "--csv=" + csv);
        builder.command().addAll(choice);
        variables.forEach((name, value) -> builder.environment().put(name, value.toString()));
        builder.environment().put("MOCK_DEVICES", "2");
        Path output = folder.resolve("output");
        Process process = builder.redirectErrorStream(true).redirectOutput(output.toFile()).start();
        assertThat(process.waitFor(100, TimeUnit.SECONDS)).isTrue();
        assertThat(process.exitValue()).as(Files.readString(output)).isZero();
        assertThat(output).content().contains("device " + lastDevice, "# Out of bounds values : 0");
        List<String> lines = Files.readAllLines(csv);
        assertThat(lines).hasSize(4);
        assertThat(lines.subList(1, 4))
                .allMatch(line -> line.startsWith(backend + ",") && line.endsWith(",0"));
    }
}
