package org.jccl.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.jccl.testing.Patience.enough;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jccl.launch.LaunchException;
import org.jccl.launch.ProcessLauncher;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The programs as users start them: one process a rank, over Gloo. */
class LaunchedTest {

    @Test
    void helloPrintsTheSumOnEveryRank() {
        assertThat(run(4, AllReduceHello.class))
                .containsExactlyInAnyOrder(
                        "rank 0: 10.0", "rank 1: 10.0", "rank 2: 10.0", "rank 3: 10.0");
    }

    @Test
    void trainingOnTwoRanksProvesItself() {
        List<String> lines = run(2, DigitsTraining.class, "--epochs", "8");
        assertThat(lines).contains("weights are the same bits on all 2 ranks", "PASSED");
        assertThat(lines).anyMatch(line -> line.matches("epoch  8 .* test accuracy 9\\d\\.\\d %"));
    }

    @Test
    void bucketsAreComparedWithOneByOne() {
        assertThat(run(2, Buckets.class, "gloo", "3"))
                .filteredOn(
                        line -> line.matches("200 x .* floats .* us  \\d+\\.\\d\\d of one by one"))
                .hasSize(9);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 4})
    void layersThatRanksShareAreThoseOfOneRank(int ranks) {
        assertThat(run(ranks, TensorParallel.class, "3")).endsWith("PASSED");
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3})
    void layersInAPipelineAreThoseOfOneRank(int ranks) {
        assertThat(run(ranks, Pipeline.class, "2"))
                .containsExactly(
                        ranks
                                + " stages, 8 pieces a batch, weights are the same bits as one"
                                + " rank's",
                        "PASSED");
    }

    @ParameterizedTest
    @CsvSource({"ReplacedRanks, 2000", "LocalSgd, 60", "DiLoCo, 60"})
    void worldsThatReplaceRanksLearn(String program, String steps) throws Exception {
        List<String> lines = new CopyOnWriteArrayList<>();
        ProcessLauncher.builder(2)
                .mainClass(Class.forName("org.jccl.examples." + program), steps)
                .replaceLostRanks()
                .maxRestarts(3)
                .output((rank, error, line) -> lines.add(line))
                .timeout(enough(Duration.ofSeconds(90)))
                .build()
                .run();
        assertThat(lines).anyMatch(line -> line.matches("9\\d\\.\\d % of the test images.*"));
    }

    @Test
    void trainingFailsWithAnUnknownBackend() {
        assertThatThrownBy(() -> run(2, DigitsTraining.class, "--backend", "pigeons"))
                .isInstanceOf(LaunchException.class)
                .hasMessageContaining("no binding for backend 'pigeons'");
    }

    private static List<String> run(int ranks, Class<?> program, String... arguments) {
        List<String> lines = new CopyOnWriteArrayList<>();
        ProcessLauncher.builder(ranks)
                .mainClass(program, arguments)
                .output(
                        (rank, error, line) -> {
                            if (!error) {
                                lines.add(line);
                            }
                        })
                .timeout(enough(Duration.ofSeconds(90)))
                .build()
                .run();
        return lines;
    }
}
