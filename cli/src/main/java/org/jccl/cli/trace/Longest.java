package org.jccl.cli.trace;

import java.util.List;
import java.util.Map;

/**
 * The ranks for which the others waited longest. Ranks within a tenth of the longest time count as
 * equal, because such a difference is chance.
 *
 * @param ranks in ascending order; empty if no rank was waited for
 * @param nanos the longest time
 */
record Longest(List<Integer> ranks, long nanos) {

    private static final double TIE = 0.9;

    static Longest of(Map<Integer, Long> waitedFor) {
        long most = waitedFor.values().stream().mapToLong(Long::longValue).max().orElse(0);
        List<Integer> ranks =
                waitedFor.entrySet().stream()
                        .filter(each -> each.getValue() > 0 && each.getValue() >= TIE * most)
                        .map(Map.Entry::getKey)
                        .sorted()
                        .toList();
        return new Longest(ranks, most);
    }

    /** The one rank that stands out, or -1. */
    int only() {
        return ranks.size() == 1 ? ranks.get(0) : -1;
    }
}
