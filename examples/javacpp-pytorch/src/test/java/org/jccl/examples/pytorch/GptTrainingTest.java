package org.jccl.examples.pytorch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.jccl.testing.Patience.enough;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jccl.launch.ProcessLauncher;
import org.jccl.testing.Families;
import org.jccl.testing.FreePort;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The program as users start it: one process a rank, over Gloo. */
class GptTrainingTest {

    /** One that does not change: differences of losses are one or two roundings of it. */
    private static final Path TEXT = Path.of("..", "..", "LICENSE").toAbsolutePath();

    private final List<Process> ranks = new ArrayList<>();

    @AfterEach
    void end() {
        ranks.forEach(Process::destroyForcibly);
    }

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
                .timeout(enough(Duration.ofSeconds(150)))
                .build()
                .run();
        return lines;
    }

    static IntStream worlds() {
        return Families.ALL ? IntStream.of(2, 4) : IntStream.of(4);
    }

    /** With four ranks, two share layers or the network, and there are two copies of each part. */
    @ParameterizedTest
    @MethodSource("worlds")
    void lossesAreThoseOfOneProcess(int ranks, @TempDir Path directory) {
        assertThat(run(ranks, "compare", 20, directory))
                .contains("PASSED")
                .anyMatch(line -> line.startsWith("ddp: losses differ by "))
                .anyMatch(line -> line.startsWith("fsdp: losses differ by "))
                .anyMatch(line -> line.startsWith("tp: losses differ by "))
                .anyMatch(line -> line.startsWith("pp: losses differ by "));
    }

    static Stream<String> kinds() {
        return Families.ALL ? Stream.of("fsdp", "tp", "pp") : Stream.of("fsdp");
    }

    @ParameterizedTest
    @MethodSource("kinds")
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

    /** The rank before it in the pipeline names it, and does not wait for the timeout. */
    @Test
    @Timeout(120)
    void aRankOfAPipelineThatIsKilledIsNamed(@TempDir Path directory) throws Exception {
        String port = Integer.toString(FreePort.next());
        for (int rank = 0; rank < 2; rank++) {
            ranks.add(start(rank, port, directory));
        }
        BufferedReader output = ranks.get(0).inputReader();
        String line = output.readLine();
        while (line != null && !line.endsWith("after step 1")) {
            line = output.readLine();
        }
        ranks.get(1).destroyForcibly();
        assertThat(output.lines()).anyMatch(each -> each.contains("lost rank 1"));
        assertThat(ranks.get(0).waitFor()).isEqualTo(1);
    }

    private static Process start(int rank, String port, Path directory) throws IOException {
        ProcessBuilder builder =
                new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-cp",
                        System.getProperty("java.class.path"),
                        GptTraining.class.getName(),
                        "pp",
                        "1000000",
                        TEXT.toString(),
                        directory.toString());
        builder.environment()
                .putAll(
                        Map.of(
                                "RANK",
                                Integer.toString(rank),
                                "WORLD_SIZE",
                                "2",
                                "MASTER_ADDR",
                                "127.0.0.1",
                                "MASTER_PORT",
                                port));
        return builder.redirectErrorStream(true).start();
    }

    private static String lossOf(List<String> lines) {
        return lines.stream().filter(line -> line.endsWith("after step 12")).findFirst().get();
    }
}
