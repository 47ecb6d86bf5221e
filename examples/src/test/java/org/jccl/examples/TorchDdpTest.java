package org.jccl.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.jccl.testing.Patience.enough;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jccl.launch.ProcessLauncher;
import org.jccl.launch.ProcessLauncherBuilder;
import org.jccl.testing.TorchPython;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** PyTorch's DistributedDataParallel with three Python ranks, and with a Java rank in its world. */
@Timeout(400)
class TorchDdpTest {

    private static final String EPOCHS = "3";

    private final List<String> lines = new CopyOnWriteArrayList<>();

    @TempDir private Path folder;

    private static List<String> python(String option, Path file) {
        Path script = Path.of("pytorch-interop", "digits_ddp.py").toAbsolutePath();
        return List.of(
                TorchPython.require(),
                script.toString(),
                "--epochs",
                EPOCHS,
                option,
                file.toString());
    }

    private static List<String> java() {
        return List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-cp",
                System.getProperty("java.class.path"),
                TorchDdpTraining.class.getName(),
                EPOCHS);
    }

    private void run(ProcessLauncherBuilder launcher) {
        launcher.timeout(enough(Duration.ofSeconds(180)))
                .output((rank, error, line) -> lines.add(rank + ": " + line))
                .build()
                .run();
    }

    @Test
    void aJavaRankTrainsAsAPythonRankDoes() {
        Path saved = folder.resolve("python.pt");
        run(ProcessLauncher.builder(3).command(python("--save", saved)));
        assertThat(lines).contains("0: weights are the same bits on all 3 ranks", "0: PASSED");
        lines.clear();
        run(
                ProcessLauncher.builder(2)
                        .command(python("--compare", saved))
                        .addRole("java", 1, java()));
        assertThat(lines)
                .contains(
                        "0: weights are the same bits on all 3 ranks",
                        "2: rank 2, in Java: weights are the same bits as those of rank 0",
                        "0: PASSED")
                .anyMatch(line -> line.startsWith("0: largest difference from " + saved));
    }
}
