package org.jccl.examples.pytorch;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jccl.launch.ProcessLauncher;
import org.junit.jupiter.api.Test;

/** The program as users start it: one process a rank, over Gloo. */
class GptTrainingTest {

    @Test
    void wholeAndDividedParametersHaveTheSameLosses() {
        List<String> lines = new CopyOnWriteArrayList<>();
        Path text = Path.of("..", "..", "README.md").toAbsolutePath();
        ProcessLauncher.builder(2)
                .mainClass(GptTraining.class, "40", text.toString())
                .output(
                        (rank, error, line) -> {
                            if (!error) {
                                lines.add(line);
                            }
                        })
                .timeout(Duration.ofSeconds(150))
                .build()
                .run();
        assertThat(lines)
                .contains("PASSED")
                .anyMatch(line -> line.startsWith("largest difference of a loss: 0.0e+00"));
    }
}
