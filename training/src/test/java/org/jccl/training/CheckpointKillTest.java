package org.jccl.training;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.jccl.Tensor;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * A job that saves by a {@link CheckpointWriter} all the time, and is killed. {@code
 * JCCL_TEST_CHECKPOINT_KILLS} sets the number of kills.
 */
@Timeout(1800)
@Tag("all")
final class CheckpointKillTest {

    private static final int KILLS =
            Integer.parseInt(System.getenv().getOrDefault("JCCL_TEST_CHECKPOINT_KILLS", "4"));

    private static final int COUNT = 300_000;
    private static final int RANKS = 2;

    @TempDir private Path directory;

    /** The job: two ranks that continue from the checkpoint and print each step that is saved. */
    static final class Job {

        private Job() {}

        public static void main(String[] args) {
            Path directory = Path.of(args[0]);
            int begin = Checkpoint.exists(directory) ? lastStep(directory) : 0;
            SavingJob.ranks(
                    group -> {
                        Tensor part = TestRanks.filled(COUNT, 0);
                        Tensor all = TestRanks.filled(COUNT, 0);
                        CheckpointWriter writer = CheckpointWriter.of(group);
                        for (int step = begin + 1; true; step++) {
                            part.copyFrom(TestRanks.filled(COUNT, step));
                            all.copyFrom(TestRanks.filled(COUNT, step));
                            writer.save(
                                    directory,
                                    List.of(
                                            Shard.part(
                                                    "parts",
                                                    (long) COUNT * group.rank(),
                                                    part,
                                                    COUNT * RANKS),
                                            Shard.replicated("all", all, COUNT)),
                                    Map.of("step", Integer.toString(step)));
                            // Training continues: this must not be in the checkpoint.
                            part.copyFrom(TestRanks.filled(COUNT, -1));
                            all.copyFrom(TestRanks.filled(COUNT, -1));
                            writer.await();
                            group.sync().barrier();
                            if (group.rank() == 0) {
                                System.out.println(step);
                            }
                        }
                    });
        }
    }

    /** Loads the checkpoint: every element must be of its step. */
    private static int lastStep(Path directory) {
        Checkpoint checkpoint = Checkpoint.open(directory);
        int step = Integer.parseInt(checkpoint.metadata().get("step"));
        Tensor parts = TestRanks.filled(RANKS * COUNT, -1);
        Tensor all = TestRanks.filled(COUNT, -1);
        checkpoint.load(
                List.of(
                        Shard.part("parts", 0, parts, RANKS * COUNT),
                        Shard.replicated("all", all, COUNT)));
        assertThat(TestRanks.values(parts)).containsOnly(step);
        assertThat(TestRanks.values(all)).containsOnly(step);
        return step;
    }

    @Test
    void aKilledJobLeavesItsLastCheckpoint() throws Exception {
        Random random = new Random(36);
        Path checkpoints = directory.resolve("checkpoints");
        int last = 0;
        for (int kill = 0; kill < KILLS; kill++) {
            // A file, because Java closes the pipe of a process that it kills.
            Path output = directory.resolve("output");
            Process process =
                    new ProcessBuilder(
                                    Path.of(System.getProperty("java.home"), "bin", "java")
                                            .toString(),
                                    "-XX:TieredStopAtLevel=1",
                                    "-XX:+UseSerialGC",
                                    "-cp",
                                    System.getProperty("java.class.path"),
                                    Job.class.getName(),
                                    checkpoints.toString())
                            .redirectOutput(output.toFile())
                            .redirectError(ProcessBuilder.Redirect.INHERIT)
                            .start();
            try {
                while (Files.size(output) == 0) {
                    assertThat(process.isAlive()).as("after step %d", last).isTrue();
                    Thread.sleep(5);
                }
                Thread.sleep(random.nextInt(150));
            } finally {
                process.destroyForcibly().waitFor();
            }
            List<String> lines = Files.readAllLines(output);
            int printed = Integer.parseInt(lines.get(lines.size() - 1));
            int now = lastStep(checkpoints);
            assertThat(now).isGreaterThan(last).isBetween(printed, printed + 1);
            last = now;
        }
        System.out.printf("%d kills; the last checkpoint is of step %d%n", KILLS, last);
    }
}
