package org.jccl.training;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import org.jccl.launch.ProcessLauncher;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Jobs whose processes end at random moments and are replaced: each step is made on all ranks or on
 * none. {@code JCCL_TEST_COMMIT_STEPS} makes them longer, and prints what docs/jobs.md says of
 * them.
 */
@Timeout(7200)
final class CommitJobTest {

    private static final long STEPS =
            Long.parseLong(System.getenv().getOrDefault("JCCL_TEST_COMMIT_STEPS", "400"));

    /** What a rank says of a step. */
    private record Made(int generation, List<Integer> members, long sum) {

        static Made parse(String[] words) {
            List<Integer> members = new ArrayList<>();
            for (String member : words[3].substring(1, words[3].length() - 1).split(",")) {
                members.add(Integer.valueOf(member));
            }
            return new Made(Integer.parseInt(words[2]), members, Long.parseLong(words[4]));
        }
    }

    @ParameterizedTest
    @CsvSource({"3, 1, 3000", "4, 2, 4000"})
    void everyStepIsMadeOnAllRanksOrOnNone(int ranks, int minimum, int lifetime) {
        check(run(ranks, minimum, lifetime, 5, 1));
    }

    /** Any rank may be killed, also all of them at once. */
    @Test
    @EnabledIfEnvironmentVariable(named = "JCCL_TEST_COMMIT_STEPS", matches = ".+")
    void manyProcessesAreReplaced() {
        List<String> lines = run(4, 2, 8000, 50, 0);
        new CommitFigures(lines).print();
        check(lines);
    }

    /** Rank 0 sees all generations, so that what it keeps of each of them would add up. */
    @Test
    @EnabledIfEnvironmentVariable(named = "JCCL_TEST_COMMIT_STEPS", matches = ".+")
    void nothingGrows() {
        List<String> lines = run(4, 2, 8000, 50, 1);
        new CommitFigures(lines).print();
        check(lines);
    }

    /** Its ranks are lost with it. */
    @Test
    void aLostLauncherComesBackWithItsRanks(@TempDir Path folder) throws Exception {
        List<Integer> port = freePorts(1);
        List<String> lines = Collections.synchronizedList(new ArrayList<>());
        CompletableFuture<Void> first =
                CompletableFuture.runAsync(
                        () ->
                                CommitLauncher.run(
                                        0,
                                        Long.toString(STEPS),
                                        port,
                                        (rank, error, line) -> lines.add(line)),
                        task -> new Thread(task).start());
        List<Process> second = new ArrayList<>();
        try {
            for (int i = 0; i < 3; i++) {
                second.add(launcher(1, port, folder.resolve("launcher" + i)));
                int before = lines.size();
                while (i < 2 && stepsOf("[0,1,2,3]", lines, before) < 20) {
                    assertThat(first).isNotDone();
                    Thread.sleep(20);
                }
                if (i < 2) {
                    second.get(i).destroyForcibly().waitFor();
                }
            }
            first.get();
            assertThat(second.get(2).waitFor()).isZero();
        } finally {
            second.forEach(Process::destroyForcibly);
        }
        lines.add("killed by the test");
        for (int i = 0; i < 3; i++) {
            lines.addAll(Files.readAllLines(folder.resolve("launcher" + i)));
        }
        check(lines);
    }

    /**
     * The first launcher is lost, and with it a server of the store. The job goes on without it,
     * and it comes back with its rank, but without its server.
     */
    @Test
    @Timeout(600)
    void theJobOutlivesTheFirstLauncher(@TempDir Path folder) throws Exception {
        List<Integer> ports = freePorts(3);
        List<Process> launchers = new ArrayList<>();
        List<Path> outputs = new ArrayList<>();
        try {
            for (int i = 0; i < 4; i++) {
                outputs.add(folder.resolve("launcher" + i));
                if (i == 3) {
                    awaitSteps("[0,1,2]", launchers.get(1), outputs.get(1));
                    launchers.get(0).destroyForcibly().waitFor();
                    awaitSteps("[1,2]", launchers.get(1), outputs.get(1));
                }
                launchers.add(launcher(i % 3, ports, outputs.get(i)));
            }
            for (int i = 1; i < 4; i++) {
                assertThat(launchers.get(i).waitFor()).isZero();
            }
        } finally {
            launchers.forEach(Process::destroyForcibly);
        }
        List<String> lines = new ArrayList<>(List.of("killed by the test"));
        for (Path output : outputs) {
            lines.addAll(Files.readAllLines(output));
        }
        check(lines);
        assertThat(Files.readAllLines(outputs.get(3))).contains("done " + STEPS);
    }

    private static void awaitSteps(String members, Process launcher, Path output) throws Exception {
        while (stepsOf(members, Files.readAllLines(output), 0) < 20) {
            assertThat(launcher.isAlive()).isTrue();
            Thread.sleep(50);
        }
    }

    private static List<Integer> freePorts(int count) throws IOException {
        List<ServerSocket> sockets = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            sockets.add(new ServerSocket(0));
        }
        List<Integer> ports = sockets.stream().map(ServerSocket::getLocalPort).toList();
        for (ServerSocket socket : sockets) {
            socket.close();
        }
        return ports;
    }

    private static Process launcher(int node, List<Integer> ports, Path output) throws IOException {
        List<String> command =
                new ArrayList<>(
                        List.of(
                                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                                "-cp",
                                System.getProperty("java.class.path"),
                                CommitLauncher.class.getName(),
                                Integer.toString(node),
                                Long.toString(STEPS)));
        ports.forEach(port -> command.add(Integer.toString(port)));
        return new ProcessBuilder(command)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .redirectOutput(output.toFile())
                .start();
    }

    private static long stepsOf(String members, List<String> lines, int from) {
        return List.of(lines.toArray(String[]::new)).stream()
                .skip(from)
                .filter(line -> line.startsWith("step") && line.contains(members))
                .count();
    }

    static List<String> run(int ranks, int minimum, int lifetime, int stepMillis, int firstKilled) {
        List<String> lines = Collections.synchronizedList(new ArrayList<>());
        ProcessLauncher.builder(ranks)
                .mainClass(
                        CommitJob.class,
                        Long.toString(STEPS),
                        Integer.toString(minimum),
                        Integer.toString(lifetime),
                        Integer.toString(stepMillis),
                        Integer.toString(firstKilled))
                .replaceLostRanks()
                .maxRestarts(1_000_000)
                .timeout(Duration.ofMinutes(90))
                .output(
                        (rank, error, line) -> {
                            lines.add(line);
                            if (error) {
                                System.out.println("rank " + rank + ": " + line);
                            }
                        })
                .build()
                .run();
        return lines;
    }

    static void check(List<String> lines) {
        assertThat(lines).noneMatch(line -> line.startsWith("Exception"));
        assertThat(lines).contains("done " + STEPS);
        assertThat(checkSteps(lines)).isEqualTo(STEPS);
        assertThat(lines.stream().filter(line -> line.startsWith("killed"))).isNotEmpty();
    }

    /**
     * Checks that each step was made alike by all who made it, and that the weights are those of an
     * undisturbed run with the same members. If all ranks with the state are lost at once, the
     * others begin again.
     *
     * @return how many steps were made since the last beginning
     */
    static long checkSteps(List<String> lines) {
        TreeMap<Integer, Map<Long, Made>> beginnings = new TreeMap<>();
        for (String line : lines) {
            String[] words = line.split(" ");
            if (words[0].equals("entered") && words[2].equals("0")) {
                beginnings.put(Integer.valueOf(words[1]), new TreeMap<>());
            }
        }
        for (String line : lines) {
            String[] words = line.split(" ");
            if (words[0].equals("step")) {
                Made made = Made.parse(words);
                Map<Long, Made> steps = beginnings.floorEntry(made.generation()).getValue();
                Made before = steps.putIfAbsent(Long.valueOf(words[1]), made);
                assertThat(before == null ? made : before).as(line).isEqualTo(made);
            }
        }
        long next = 0;
        for (Map<Long, Made> steps : beginnings.values()) {
            CommitJob.Replay replay = new CommitJob.Replay();
            next = 0;
            for (Map.Entry<Long, Made> step : steps.entrySet()) {
                assertThat(step.getKey()).isEqualTo(next++);
                assertThat(replay.step(step.getKey(), step.getValue().members()))
                        .as("weights after step " + step)
                        .isEqualTo(step.getValue().sum());
            }
        }
        return next;
    }
}
