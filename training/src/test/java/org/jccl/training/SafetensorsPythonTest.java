package org.jccl.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.Tensor;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Python's safetensors reads what is written here, and the other way round. */
@Tag("all")
final class SafetensorsPythonTest {

    private static final String PYTHON =
            System.getenv().getOrDefault("JCCL_PEER_PYTHON", "python3");

    @TempDir private Path directory;

    @BeforeEach
    void findPython() throws Exception {
        String answer;
        try {
            answer = python("import safetensors.numpy; print('there')");
        } catch (IOException e) {
            answer = e.getMessage();
        }
        assumeTrue(
                answer.strip().endsWith("there"),
                "Python's safetensors is not installed: script/bootstrap --with-peers");
    }

    private String python(String... lines) throws IOException, InterruptedException {
        Path output = directory.resolve("output");
        Path script = Files.writeString(directory.resolve("script.py"), String.join("\n", lines));
        Process process =
                new ProcessBuilder(PYTHON, script.toString())
                        .directory(directory.toFile())
                        .redirectErrorStream(true)
                        .redirectOutput(output.toFile())
                        .start();
        if (!process.waitFor(60, TimeUnit.SECONDS)) {
            process.destroyForcibly();
            throw new AssertionError("Python is not done in time");
        }
        return Files.readString(output, StandardCharsets.UTF_8);
    }

    @Test
    void pythonReadsOurFiles() throws Exception {
        try (Tensor floats = Tensor.copyOf(new float[] {1, 2, 3, 4, 5, 6});
                Tensor longs = Tensor.copyOf(new long[] {-1L << 40, 7});
                Tensor bytes = Tensor.copyOf(new byte[] {1, 2, 3});
                Tensor flags =
                        Tensor.allocate(Device.CPU, DataType.BOOL, 2).copyFrom(new byte[] {1, 0})) {
            SafetensorsFile.write(
                    directory.resolve("ours.safetensors"),
                    List.of(
                            NamedTensor.of("bytes", bytes, 3),
                            NamedTensor.of("flags", flags, 2, 1),
                            NamedTensor.of("floats \u00e9\ud83d\ude00", floats, 2, 3),
                            NamedTensor.of("longs", longs, 2),
                            NamedTensor.of("none", floats.slice(0, 0), 3, 0)),
                    Map.of("who", "Java"));
        }
        String read =
                python(
                        "from safetensors import safe_open",
                        "with safe_open('ours.safetensors', 'numpy') as f:",
                        "    print(f.metadata()['who'])",
                        "    for name in sorted(f.keys()):",
                        "        t = f.get_tensor(name)",
                        "        print(ascii(name), t.dtype, t.shape, t.tolist())");
        assertThat(read.lines())
                .containsExactly(
                        "Java",
                        "'bytes' int8 (3,) [1, 2, 3]",
                        "'flags' bool (2, 1) [[True], [False]]",
                        "'floats \\xe9\\U0001f600' float32 (2, 3) [[1.0, 2.0, 3.0],"
                                + " [4.0, 5.0, 6.0]]",
                        "'longs' int64 (2,) [-1099511627776, 7]",
                        "'none' float32 (3, 0) [[], [], []]");
    }

    @Test
    void weReadPythonsFiles() throws Exception {
        String answer =
                python(
                        "import numpy",
                        "from safetensors.numpy import save_file",
                        "save_file({",
                        "    'w': numpy.arange(6, dtype=numpy.float32).reshape(2, 3),",
                        "    'h': numpy.array([1.5, -2], dtype=numpy.float16),",
                        "    'one': numpy.array(7, dtype=numpy.int64),",
                        "    'b\\u00e9': numpy.array([True, False, True]),",
                        "}, 'theirs.safetensors', metadata={'who': 'Python'})");
        assertThat(answer).isEmpty();
        SafetensorsFile file = SafetensorsFile.open(directory.resolve("theirs.safetensors"));
        assertThat(file.metadata()).isEqualTo(Map.of("who", "Python"));
        assertThat(file.names()).containsExactlyInAnyOrder("w", "h", "one", "b\u00e9");
        assertThat(file.shape("w")).containsExactly(2L, 3L);
        assertThat(file.shape("one")).isEmpty();
        assertThat(file.dataType("h")).isEqualTo(DataType.FLOAT16);
        assertThat(file.dataType("b\u00e9")).isEqualTo(DataType.BOOL);
        try (Tensor w = Tensor.allocate(Device.CPU, DataType.FLOAT32, 4);
                Tensor one = Tensor.allocate(Device.CPU, DataType.INT64, 1)) {
            file.read("w", 2, w);
            assertThat(w.copyTo(new float[4])).containsExactly(2, 3, 4, 5);
            file.read("one", 0, one);
            assertThat(one.copyTo(new long[1])).containsExactly(7);
        }
    }

    /** A checkpoint of replicated tensors is the model, whoever opens its files. */
    @Test
    void pythonReadsACheckpoint() throws Exception {
        TestRanks.onCpu(
                2,
                group ->
                        Checkpoint.save(
                                group,
                                directory,
                                List.of(
                                        Shard.replicated("w", TestRanks.floats(1, 2, 3, 4), 2, 2),
                                        Shard.replicated("b", TestRanks.floats(5, 6), 2)),
                                Map.of()));
        String read =
                python(
                        "import glob",
                        "from safetensors.numpy import load_file",
                        "model = {}",
                        "for name in glob.glob('*.safetensors'):",
                        "    model.update(load_file(name))",
                        "print({k: model[k].tolist() for k in sorted(model)})");
        assertThat(read.strip()).isEqualTo("{'b': [5.0, 6.0], 'w': [[1.0, 2.0], [3.0, 4.0]]}");
    }
}
