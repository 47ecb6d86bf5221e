package org.jccl.examples.pytorch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.jccl.testing.Patience.enough;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jccl.launch.ProcessLauncher;
import org.junit.jupiter.api.Test;

/** The program as users start it: one process a rank, over Gloo. */
class ConvNetTrainingTest {

    @Test
    void fourRanksProveThemselves() {
        List<String> lines = new CopyOnWriteArrayList<>();
        ProcessLauncher.builder(4)
                .mainClass(ConvNetTraining.class, "4")
                .output(
                        (rank, error, line) -> {
                            if (!error) {
                                lines.add(line);
                            }
                        })
                .timeout(enough(Duration.ofSeconds(100)))
                .build()
                .run();
        assertThat(lines)
                .contains("weights are the same bits on all 4 ranks", "PASSED")
                .anyMatch(line -> line.matches("test accuracy 9\\d\\.\\d %"));
        assertThat(lines.stream().filter(line -> line.contains("has weights")))
                .hasSize(4)
                .map(line -> line.replaceAll("rank \\d ", ""))
                .containsOnly(
                        lines.stream()
                                .filter(line -> line.startsWith("rank 0"))
                                .findFirst()
                                .orElseThrow()
                                .substring("rank 0 ".length()));
    }
}
