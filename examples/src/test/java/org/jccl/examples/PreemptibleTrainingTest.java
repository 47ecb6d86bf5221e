package org.jccl.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.jccl.testing.Patience.enough;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jccl.cli.Jccl;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A pod that shall go: SIGTERM to {@code jccl run}. */
class PreemptibleTrainingTest {

    private static final int STEPS = 150;

    @TempDir private Path folder;

    private Process jccl() throws IOException {
        String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
        String classPath = System.getProperty("java.class.path");
        List<String> command = new ArrayList<>(List.of(java, "-cp", classPath));
        command.addAll(List.of(Jccl.class.getName(), "run", "-n", "2"));
        command.addAll(
                List.of(
                        "--shutdown-timeout",
                        "30",
                        "--timeout",
                        "" + enough(Duration.ofSeconds(150)).toSeconds(),
                        "--",
                        java));
        command.addAll(List.of("-cp", classPath, PreemptibleTraining.class.getName()));
        command.addAll(List.of(folder.resolve("checkpoint").toString(), Integer.toString(STEPS)));
        return new ProcessBuilder(command).redirectErrorStream(true).start();
    }

    @Test
    void ranksSaveAndLeaveAfterSigtermAndGoOnFromThere() throws Exception {
        Process first = jccl();
        List<String> lines = new ArrayList<>();
        try (BufferedReader output = first.inputReader()) {
            for (String line = output.readLine(); line != null; line = output.readLine()) {
                lines.add(line);
                if (line.equals("[0] from step 0")) {
                    Thread.sleep(300);
                    first.toHandle().destroy(); // SIGTERM
                }
            }
        }
        assertThat(first.waitFor()).as(lines.toString()).isEqualTo(143);

        Process second = jccl();
        List<String> rest = second.inputReader().lines().toList();
        assertThat(second.waitFor()).as(rest.toString()).isZero();
        assertThat(rest)
                .as(lines.toString())
                .anyMatch(line -> line.matches("\\[0\\] from step [1-9]\\d*"))
                .contains("[0] sum " + STEPS * (STEPS + 1));
        assertThat(second.waitFor(1, TimeUnit.SECONDS)).isTrue();
    }
}
