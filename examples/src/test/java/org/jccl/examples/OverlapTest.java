package org.jccl.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.jccl.testing.Patience.enough;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jccl.launch.ProcessLauncher;
import org.jccl.launch.ProcessLauncherBuilder;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The example on mocks of CUDA and NCCL: its table and its trace, not how long things take. */
class OverlapTest {

    private static final int LAYERS = 3;

    @TempDir private Path folder;

    @Test
    void printsATableAndWritesWhatBothStreamsDid() throws IOException {
        Path trace = folder.resolve("overlap.json");
        List<String> lines = new CopyOnWriteArrayList<>();
        ProcessLauncherBuilder launcher =
                ProcessLauncher.builder(2)
                        .mainClass(
                                Overlap.class,
                                "--layers",
                                String.valueOf(LAYERS),
                                "--elements",
                                "4096",
                                "--copies",
                                "2",
                                "--trace",
                                trace.toString());
        String mocks = System.getProperty("jccl.mocks");
        launcher.environment("JCCL_NCCL_DRIVER", mocks + "/libcuda.so.1")
                .environment("JCCL_NCCL_CUDART", mocks + "/libcudart.so.13")
                .environment("JCCL_NCCL_LIBRARY", mocks + "/libnccl.so.2")
                .environment("MOCK_DELAY_US", "200")
                .jvmArguments("-Dorg.bytedeco.javacpp.cachedir=" + System.getProperty("jccl.cache"))
                .output((rank, error, line) -> lines.add(line))
                .timeout(enough(Duration.ofSeconds(90)))
                .build()
                .run();
        assertThat(lines)
                .anyMatch(line -> line.contains("times below say nothing about one"))
                .anyMatch(line -> line.matches("serial +\\d+\\.\\d+ +\\d+\\.\\d+ +\\d+\\.\\d+"))
                .anyMatch(
                        line -> line.matches("overlapped +\\d+\\.\\d+ +\\d+\\.\\d+ +\\d+\\.\\d+"));
        String written = Files.readString(trace);
        for (String pass : List.of("serial", "overlapped")) {
            for (String stream : List.of("compute", "communication")) {
                String place = "\"pid\": \"" + pass + "\", \"tid\": \"" + stream + "\"";
                assertThat(written.split(place, -1)).as(place).hasSize(LAYERS + 1);
            }
        }
        assertThat(written).doesNotContain("\"dur\": -");
    }
}
