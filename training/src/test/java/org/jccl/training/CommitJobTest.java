package org.jccl.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.jccl.testing.Patience.enough;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jccl.launch.ProcessLauncher;
import org.jccl.testing.ChildJvm;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Jobs whose processes end at random moments and are replaced: each step is made on all ranks or on
 * none. {@code JCCL_TEST_COMMIT_STEPS} makes them longer, and prints what docs/reliability.md says
 * of them.
 */
@Timeout(7200)
@Tag("all")
final class CommitJobTest {

    /** No rank, so that any may be killed. */
    private static final int NOBODY = -1;

    static final long STEPS =
            Long.parseLong(System.getenv().getOrDefault("JCCL_TEST_COMMIT_STEPS", "400"));

    /** What a rank says of a step. */
    private record Made(int generation, List<Integer> members, long sum) {

        static Made parse(String[] words) {
            return new Made(Integer.parseInt(words[2]), ranks(words[3]), Long.parseLong(words[4]));
        }
    }

    /** Reads a list such as {@code [0,2]}. */
    static List<Integer> ranks(String list) {
        return Arrays.stream(list.substring(1, list.length() - 1).split(","))
                .map(Integer::valueOf)
                .toList();
    }

    @ParameterizedTest
    @CsvSource({"3, 1, 3000", "4, 2, 4000"})
    void everyStepIsMadeOnAllRanksOrOnNone(int ranks, int minimum, int lifetime) {
        check(runWithLosses(ranks, minimum, lifetime));
    }

    /** Lifetimes are random: if all processes live to the end, the job runs again. */
    private static List<String> runWithLosses(int ranks, int minimum, int lifetime) {
        List<String> lines = run(ranks, minimum, lifetime, 5, 0);
        for (int again = 0; again < 10 && killed(lines) == 0; again++) {
            lines = run(ranks, minimum, lifetime, 5, 0);
        }
        return lines;
    }

    private static long killed(List<String> lines) {
        return lines.stream().filter(line -> line.startsWith("killed")).count();
    }

    /** Any rank may be killed, also all of them at once. */
    @Test
    @EnabledIfEnvironmentVariable(named = "JCCL_TEST_COMMIT_STEPS", matches = ".+")
    void manyProcessesAreReplaced() {
        List<String> lines = run(4, 2, 8000, 50, NOBODY);
        new CommitFigures(lines).print();
        check(lines);
    }

    /** Rank 0 sees all generations, so that what it keeps of each of them would add up. */
    @Test
    @EnabledIfEnvironmentVariable(named = "JCCL_TEST_COMMIT_STEPS", matches = ".+")
    void nothingGrows() {
        List<String> lines = run(4, 2, 8000, 50, 0);
        CommitFigures figures = new CommitFigures(lines);
        figures.print();
        figures.requireNoGrowth(0);
        check(lines);
    }

    static List<String> run(int ranks, int minimum, int lifetime, int stepMillis, int spared) {
        List<String> lines = Collections.synchronizedList(new ArrayList<>());
        ProcessLauncher.builder(ranks)
                .mainClass(
                        CommitJob.class,
                        Long.toString(STEPS),
                        Integer.toString(minimum),
                        Integer.toString(lifetime),
                        Integer.toString(stepMillis),
                        Integer.toString(spared))
                .jvmArguments(ChildJvm.shortLived())
                .replaceLostRanks()
                .maxRestarts(1_000_000)
                .timeout(enough(Duration.ofMinutes(90)))
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
        check(lines, STEPS);
    }

    static void check(List<String> lines, long steps) {
        assertThat(lines).noneMatch(line -> line.startsWith("Exception"));
        assertThat(lines).contains("done " + steps);
        assertThat(checkSteps(lines)).isEqualTo(steps);
        assertThat(killed(lines)).isPositive();
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
