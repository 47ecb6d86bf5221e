package org.jccl.examples.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The script that starts the example on mock devices. */
@Tag("all")
class CudaPresetsTest {

    @ParameterizedTest
    @ValueSource(ints = {2, 4})
    void theSumsAreRightOnEachRank(int ranks, @TempDir Path folder) throws Exception {
        File output = folder.resolve("output").toFile();
        ProcessBuilder script =
                new ProcessBuilder("bash", "../../script/cuda-presets", String.valueOf(ranks));
        script.environment().put("CUDA_PRESETS_CLASS_PATH", System.getProperty("java.class.path"));
        Process process = script.redirectErrorStream(true).redirectOutput(output).start();
        try {
            assertThat(process.waitFor(3, TimeUnit.MINUTES)).isTrue();
        } finally {
            process.destroy();
        }
        String text = Files.readString(output.toPath(), StandardCharsets.UTF_8);
        assertThat(process.exitValue()).as(text).isZero();
        for (int rank = 0; rank < ranks; rank++) {
            assertThat(text)
                    .contains("rank " + rank + ": all 1048576 sums are right")
                    .containsPattern("rank " + rank + ": computed in .* overlapped for");
        }
    }
}
