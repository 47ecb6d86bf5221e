package org.jccl.examples.pytorch;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jccl.launch.ProcessLauncher;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The program as users start it: one process a rank, over Gloo. */
class GptTrainingTest {

    private static final Path TEXT = Path.of("..", "..", "README.md").toAbsolutePath();

    private static List<String> run(int ranks, String kind, int steps, Path directory) {
        List<String> lines = new CopyOnWriteArrayList<>();
        ProcessLauncher.builder(ranks)
                .mainClass(
                        GptTraining.class,
                        kind,
                        Integer.toString(steps),
                        TEXT.toString(),
                        directory.toString())
                .output(
                        (rank, error, line) -> {
                            if (!error) {
                                lines.add(line);
                            }
                        })
                .timeout(Duration.ofSeconds(150))
                .build()
                .run();
        return lines;
    }

    /** With four ranks, layers are shared by two and there are two copies of each part. */
    @ParameterizedTest
    @ValueSource(ints = {2, 4})
    void lossesAreThoseOfOneProcess(int ranks, @TempDir Path directory) {
        assertThat(run(ranks, "compare", 40, directory))
                .contains("PASSED")
                .anyMatch(line -> line.startsWith("ddp: losses differ by "))
                .anyMatch(line -> line.startsWith("fsdp: losses differ by "))
                .anyMatch(line -> line.startsWith("tp: losses differ by "));
    }

    @ParameterizedTest
    @ValueSource(strings = {"fsdp", "tp"})
    void aJobThatContinuesHasTheLossOfOneThatWasNotDisturbed(String kind, @TempDir Path directory) {
        Path undisturbed = directory.resolve("undisturbed");
        String expected = lossOf(run(2, kind, 12, undisturbed));
        Path continued = directory.resolve("continued");
        run(2, kind, 7, continued);
        List<String> lines = run(2, kind, 12, continued);
        assertThat(lines).contains("continues after step 7");
        assertThat(lossOf(lines)).isEqualTo(expected);
        assertThat(continued.resolve("loss.svg"))
                .hasSameTextualContentAs(undisturbed.resolve("loss.svg"))
                .content()
                .contains("<polyline points=", "step 12, loss ");
    }

    private static String lossOf(List<String> lines) {
        return lines.stream().filter(line -> line.endsWith("after step 12")).findFirst().get();
    }
}
