package org.jccl.cli.trace;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * A round of a program that repeats itself, such as a step of a training.
 *
 * @param startNanos when its first collective began, on the rank that came first
 * @param endNanos when the next step began, or the last collective was over
 * @param collectives how many fall into it
 * @param slowest the rank that the others waited for longest, or -1 if there is none, or several
 * @param waitedNanos how long they waited for one rank at most
 */
record Step(long startNanos, long endNanos, int collectives, int slowest, long waitedNanos) {

    private static final int FEWEST_OF_BURSTS = 16;

    /** A text that comes four times a step at one moment is in a quarter of the parts. */
    private static final int BURST = 8;

    /**
     * Cuts a recording into steps. A step begins with each collective of a certain text.
     *
     * @param collectives in the order of their time
     * @param beginning part of that text; empty to find it
     */
    static List<Step> of(List<TracedCollective> collectives, String beginning) {
        String first = beginning.isEmpty() ? beginning(collectives) : beginning;
        List<List<TracedCollective>> rounds = new ArrayList<>();
        for (TracedCollective each : collectives) {
            if (!first.isEmpty() && each.name().contains(first)) {
                rounds.add(new ArrayList<>());
            }
            if (!rounds.isEmpty()) {
                rounds.get(rounds.size() - 1).add(each);
            }
        }
        List<Step> steps = new ArrayList<>();
        for (int i = 0; i < rounds.size(); i++) {
            boolean last = i == rounds.size() - 1;
            long end = last ? end(rounds.get(i)) : rounds.get(i + 1).get(0).firstNanos();
            steps.add(of(rounds.get(i), end));
        }
        return steps;
    }

    /**
     * The text that a step begins with. Programs repeat their operations; of those texts that come
     * at least half as often as the most frequent one, the rarest comes once a step, and the first
     * of several is where the step begins. Texts that come in bursts belong to something else, such
     * as a checkpoint after each epoch.
     *
     * @return an empty text where nothing is repeated
     */
    static String beginning(List<TracedCollective> collectives) {
        Map<String, Integer> counts = new LinkedHashMap<>();
        collectives.forEach(each -> counts.merge(each.name(), 1, Integer::sum));
        Map<String, Integer> steady = new LinkedHashMap<>(counts);
        steady.keySet().removeIf(name -> isBurst(name, counts.get(name), collectives));
        return rarestOfFrequent(steady.isEmpty() ? counts : steady);
    }

    /**
     * Whether a text comes in bursts: of as many equal parts of the time as it comes times, it is
     * in few.
     */
    private static boolean isBurst(String name, int count, List<TracedCollective> collectives) {
        if (count < FEWEST_OF_BURSTS) {
            return false;
        }
        long begin = collectives.get(0).firstNanos();
        long end = collectives.get(collectives.size() - 1).firstNanos();
        double part = Math.max(1, (double) (end - begin) / count);
        long parts =
                collectives.stream()
                        .filter(each -> each.name().equals(name))
                        .mapToLong(each -> (long) ((each.firstNanos() - begin) / part))
                        .distinct()
                        .count();
        return parts < count / BURST;
    }

    private static String rarestOfFrequent(Map<String, Integer> counts) {
        int most = counts.values().stream().mapToInt(Integer::intValue).max().orElse(0);
        String found = "";
        int fewest = Integer.MAX_VALUE;
        for (Map.Entry<String, Integer> each : counts.entrySet()) {
            int count = each.getValue();
            // One more or less is where the recording begins and ends.
            if (count >= 2 && 2 * count >= most - 1 && count < fewest - 1) {
                found = each.getKey();
                fewest = count;
            }
        }
        return found;
    }

    private static long end(List<TracedCollective> round) {
        return round.stream()
                .flatMap(each -> each.arrivals().stream())
                .mapToLong(TracedCollective.Arrival::endNanos)
                .max()
                .orElseThrow();
    }

    private static Step of(List<TracedCollective> round, long end) {
        Map<Integer, Long> waited = new TreeMap<>();
        for (TracedCollective each : round) {
            if (each.allWaitForLast()) {
                waited.merge(each.lastRank(), each.waitedNanos(), Long::sum);
            }
        }
        Longest longest = Longest.of(waited);
        return new Step(
                round.get(0).firstNanos(), end, round.size(), longest.only(), longest.nanos());
    }
}
