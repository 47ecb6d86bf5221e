package org.jccl.training;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** What the lines of a {@link CommitJob} say about time and resources. */
final class CommitFigures {

    /** When the last step of each generation was made, and when the first one. */
    private final Map<Integer, Long> first = new TreeMap<>();

    private final Map<Integer, Long> kills = new TreeMap<>();
    private final List<String> entries = new ArrayList<>();
    private int processes;

    CommitFigures(List<String> lines) {
        for (String line : List.copyOf(lines)) {
            String[] words = line.split(" ");
            switch (words[0]) {
                case "step" ->
                        first.merge(Integer.valueOf(words[2]), Long.valueOf(words[5]), Math::min);
                case "killed" -> {
                    processes++;
                    // Of several in one generation, the first one ends it.
                    kills.merge(Integer.valueOf(words[1]), Long.valueOf(words[2]), Math::min);
                }
                case "entered" -> entries.add(line);
                default -> {}
            }
        }
    }

    /** From the end of a member to the first step of a later generation, in milliseconds. */
    private List<Long> pauses() {
        List<Long> pauses = new ArrayList<>();
        kills.forEach(
                (generation, when) -> {
                    boolean worked = first.getOrDefault(generation, Long.MAX_VALUE) < when;
                    first.entrySet().stream()
                            .filter(step -> worked && step.getKey() > generation)
                            .findFirst()
                            .ifPresent(step -> pauses.add(step.getValue() - when));
                });
        Collections.sort(pauses);
        return pauses;
    }

    void print() {
        List<Long> pauses = pauses();
        System.out.println("processes killed: " + processes + ", generations: " + first.size());
        if (!pauses.isEmpty()) {
            System.out.println(
                    "pause in ms, of %d: median %d, 99 %% %d, longest %d"
                            .formatted(
                                    pauses.size(),
                                    pauses.get(pauses.size() / 2),
                                    pauses.get(pauses.size() * 99 / 100),
                                    pauses.get(pauses.size() - 1)));
        }
        System.out.println("generation, steps, threads, descriptors, KB of heap, keys:");
        for (int i = 0; i < 10; i++) {
            System.out.println(entries.get((entries.size() - 1) * i / 9));
        }
    }
}
