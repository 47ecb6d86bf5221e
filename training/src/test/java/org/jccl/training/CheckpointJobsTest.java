package org.jccl.training;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CyclicBarrier;
import org.jccl.ProcessGroup;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Two jobs that save into one directory at the same time. {@code JCCL_TEST_CHECKPOINT_ROUNDS} sets
 * the number of rounds.
 */
@Timeout(1800)
@Tag("all")
final class CheckpointJobsTest {

    private static final int ROUNDS =
            Integer.parseInt(System.getenv().getOrDefault("JCCL_TEST_CHECKPOINT_ROUNDS", "12"));

    private final List<Process> processes = new ArrayList<>();
    @TempDir private Path directory;

    @AfterEach
    void end() {
        processes.forEach(Process::destroyForcibly);
    }

    /** A job in a process of its own. */
    private final class Job {
        private final int number;
        private Process process;
        private BufferedReader output;

        Job(int number) {
            this.number = number;
            start();
        }

        void start() {
            List<String> command =
                    new ArrayList<>(
                            List.of(
                                    Path.of(System.getProperty("java.home"), "bin", "java")
                                            .toString(),
                                    "-XX:TieredStopAtLevel=1",
                                    "-XX:+UseSerialGC",
                                    "-cp",
                                    System.getProperty("java.class.path")));
            command.addAll(
                    List.of(
                            SavingJob.class.getName(),
                            directory.toString(),
                            Integer.toString(number)));
            try {
                process =
                        new ProcessBuilder(command)
                                .redirectError(ProcessBuilder.Redirect.INHERIT)
                                .start();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
            processes.add(process);
            output =
                    new BufferedReader(
                            new InputStreamReader(
                                    process.getInputStream(), StandardCharsets.UTF_8));
            assertThat(read()).isEqualTo(SavingJob.READY);
        }

        void begin(int step) {
            try {
                process.getOutputStream().write((step + "\n").getBytes(StandardCharsets.UTF_8));
                process.getOutputStream().flush();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        /** True when both ranks saved, false when both were refused, and name the other job. */
        boolean hasSaved(Job other) {
            return isSaved(read().split("\t", -1), other.process.pid());
        }

        private String read() {
            try {
                return output.readLine();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        void kill() throws InterruptedException {
            process.destroyForcibly().waitFor();
        }
    }

    private static boolean isSaved(String[] results, long other) {
        boolean saved = results[0].equals(SavingJob.SAVED);
        for (String result : results) {
            if (saved) {
                assertThat(result).isEqualTo(SavingJob.SAVED);
            } else {
                assertThat(result).contains("another save", "process " + other + " on host ");
            }
        }
        return saved;
    }

    @Test
    void twoJobsLeaveTheCheckpointOfOneAlsoWhenTheyAreKilled() throws InterruptedException {
        Random random = new Random(30);
        List<Job> jobs = List.of(new Job(0), new Job(1));
        int[] saves = new int[2];
        for (int step = 0; step < ROUNDS; step++) {
            for (Job job : jobs) {
                job.begin(step);
            }
            if (step % 4 == 3) {
                Job killed = jobs.get(random.nextInt(2));
                Job other = jobs.get(1 - killed.number);
                Thread.sleep(random.nextInt(40));
                killed.kill();
                other.hasSaved(killed);
                SavingJob.jobOf(directory, step);
                // Resumed, it can save at once.
                killed.start();
                killed.begin(step);
                assertThat(killed.hasSaved(other)).isTrue();
                assertThat(SavingJob.jobOf(directory, step)).isEqualTo(killed.number);
            } else {
                boolean[] saved = new boolean[2];
                saved[0] = jobs.get(0).hasSaved(jobs.get(1));
                saved[1] = jobs.get(1).hasSaved(jobs.get(0));
                int last = SavingJob.jobOf(directory, step);
                assertThat(saved[last]).as("job %d saved in round %d", last, step).isTrue();
                saves[0] += saved[0] ? 1 : 0;
                saves[1] += saved[1] ? 1 : 0;
            }
        }
        System.out.printf("%d rounds; saves of the jobs: %d, %d%n", ROUNDS, saves[0], saves[1]);
    }

    @Test
    void twoGroupsOfOneProcessLeaveTheCheckpointOfOne() throws Exception {
        Path same = Files.createSymbolicLink(directory.resolve("same"), directory);
        String[][] results = new String[2][2];
        CyclicBarrier round = new CyclicBarrier(2);
        List<CompletableFuture<Void>> jobs = new ArrayList<>();
        for (int number = 0; number < 2; number++) {
            int job = number;
            jobs.add(
                    CompletableFuture.runAsync(
                            () ->
                                    SavingJob.ranks(
                                            group -> save(group, job, same, results, round))));
        }
        for (CompletableFuture<Void> job : jobs) {
            job.get();
        }
    }

    private void save(
            ProcessGroup group, int job, Path same, String[][] results, CyclicBarrier round)
            throws Exception {
        for (int step = 0; step < ROUNDS; step++) {
            if (group.rank() == 0) {
                round.await();
            }
            group.sync().barrier();
            Path place = job == 0 ? directory : same;
            results[job][group.rank()] = SavingJob.save(group, place, job, step);
            group.sync().barrier();
            if (group.rank() == 0) {
                round.await();
                long here = ProcessHandle.current().pid();
                boolean saved = isSaved(results[job], here);
                int last = SavingJob.jobOf(directory, step);
                assertThat(saved || last != job).isTrue();
                round.await();
            }
        }
    }
}
