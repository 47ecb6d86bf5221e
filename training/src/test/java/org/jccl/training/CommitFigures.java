package org.jccl.training;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** What the lines of a {@link CommitJob} say about time and resources. */
final class CommitFigures {

    /** What a rank holds more at the end than at the beginning, at most. */
    private static final long[] SLACK = {2, 4, 5_000, 30};

    /** The end of a process, by itself or with its launcher. */
    private record Kill(long time, boolean launcher) {

        static Kill earlier(Kill one, Kill other) {
            return one.time() <= other.time() ? one : other;
        }
    }

    /** When the first step of each generation was made, and by whom. */
    private final TreeMap<Integer, Long> first = new TreeMap<>();

    private final Map<Integer, Set<Integer>> members = new TreeMap<>();

    /** What ended each generation: of several kills the first one. */
    private final Map<Integer, Kill> kills = new TreeMap<>();

    private final Map<String, Integer> moments = new TreeMap<>();
    private final List<String[]> entries = new ArrayList<>();
    private int launchers;

    CommitFigures(List<String> lines) {
        List<String[]> all =
                List.of(lines.toArray(String[]::new)).stream()
                        .map(line -> line.split(" "))
                        .toList();
        for (String[] words : all) {
            switch (words[0]) {
                case "step" -> {
                    Integer generation = Integer.valueOf(words[2]);
                    first.merge(generation, Long.valueOf(words[5]), Math::min);
                    members.computeIfAbsent(generation, each -> new HashSet<>())
                            .addAll(CommitJobTest.ranks(words[3]));
                }
                case "killed" -> {
                    moments.merge(words[3], 1, Integer::sum);
                    Kill kill = new Kill(Long.parseLong(words[2]), false);
                    kills.merge(Integer.valueOf(words[1]), kill, Kill::earlier);
                }
                case "entered" -> entries.add(words);
                default -> {}
            }
        }
        all.stream().filter(words -> words[0].equals("lost")).forEach(this::lostLauncher);
    }

    private void lostLauncher(String[] words) {
        if (words.length < 3) {
            return;
        }
        launchers++;
        long time = Long.parseLong(words[2]);
        int generation = -1;
        for (Map.Entry<Integer, Long> each : first.entrySet()) {
            generation = each.getValue() <= time ? each.getKey() : generation;
        }
        if (members.getOrDefault(generation, Set.of()).contains(Integer.valueOf(words[1]))) {
            kills.merge(generation, new Kill(time, true), Kill::earlier);
        }
    }

    /** From the end of a member to the first step of a later generation, in milliseconds. */
    private List<Long> pauses(boolean launcher) {
        List<Long> pauses = new ArrayList<>();
        kills.forEach(
                (generation, kill) -> {
                    boolean worked = first.getOrDefault(generation, Long.MAX_VALUE) < kill.time();
                    Map.Entry<Integer, Long> next = first.higherEntry(generation);
                    if (worked && kill.launcher() == launcher && next != null) {
                        pauses.add(next.getValue() - kill.time());
                    }
                });
        return pauses;
    }

    void print() {
        System.out.println(
                "ranks killed: %s, %s; launchers killed: %s; generations with steps: %s"
                        .formatted(
                                moments.values().stream().mapToInt(each -> each).sum(),
                                moments,
                                launchers,
                                first.size()));
        print("ranks", pauses(false));
        print("launchers", pauses(true));
        List<Long> all = pauses(false);
        all.addAll(pauses(true));
        print("all", all);
        System.out.println("generation, steps, threads, descriptors, KB of heap, keys, rank:");
        for (int i = 0; i < 10; i++) {
            System.out.println(String.join(" ", entries.get((entries.size() - 1) * i / 9)));
        }
    }

    private static void print(String whose, List<Long> pauses) {
        if (pauses.isEmpty()) {
            return;
        }
        List<Long> sorted = pauses.stream().sorted().toList();
        System.out.println(
                "pause after the loss of %s in ms, of %d: median %d, 99 %% %d, longest %d"
                        .formatted(
                                whose,
                                sorted.size(),
                                sorted.get(sorted.size() / 2),
                                sorted.get(sorted.size() * 99 / 100),
                                sorted.get(sorted.size() - 1)));
    }

    static void printTen(List<long[]> samples) {
        for (int i = 0; i < 10; i++) {
            System.out.println(Arrays.toString(samples.get((samples.size() - 1) * i / 9)));
        }
    }

    /** A rank that lives from the beginning to the end must not hold more and more. */
    void requireNoGrowth(int rank) {
        List<long[]> samples =
                entries.stream()
                        .filter(words -> words[7].equals(Integer.toString(rank)))
                        .map(
                                words ->
                                        Arrays.stream(words, 3, 7)
                                                .mapToLong(Long::parseLong)
                                                .toArray())
                        .toList();
        requireNoGrowth(samples, SLACK);
    }

    /** Compares the medians of the second quarter and of the last one. */
    static void requireNoGrowth(List<long[]> samples, long... slack) {
        int quarter = samples.size() / 4;
        for (int what = 0; what < slack.length; what++) {
            assertThat(median(samples.subList(3 * quarter, 4 * quarter), what))
                    .as("number " + what + " of a sample")
                    .isLessThanOrEqualTo(
                            median(samples.subList(quarter, 2 * quarter), what) + slack[what]);
        }
    }

    private static long median(List<long[]> samples, int what) {
        return samples.stream()
                .mapToLong(sample -> sample[what])
                .sorted()
                .skip(samples.size() / 2)
                .findFirst()
                .orElseThrow();
    }
}
