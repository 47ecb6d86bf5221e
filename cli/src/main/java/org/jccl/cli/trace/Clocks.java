package org.jccl.cli.trace;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * The differences between the clocks of the ranks and that of the first rank, as far as the
 * recordings prove them.
 *
 * <p>If all ranks wait for all, no rank ends a collective before the last one has arrived. If the
 * recordings show the opposite, the clocks differ by at least that time. The view of the other rank
 * gives an upper bound. Times are moved by the middle of both bounds. A difference that is shorter
 * than the operations cannot be distinguished from a late rank.
 */
final class Clocks {

    /** The error of reading two clocks one after the other, also on one host. */
    private static final long NOISE_NANOS = 20_000;

    /** The bounds of how far the clock of one rank is ahead of another's. */
    private static final class Bounds {
        private long least = Long.MIN_VALUE;
        private long most = Long.MAX_VALUE;

        private boolean areComplete() {
            return least != Long.MIN_VALUE && most != Long.MAX_VALUE;
        }

        private long ahead() {
            boolean provenAhead = least > NOISE_NANOS;
            boolean provenBehind = most < -NOISE_NANOS;
            return provenAhead || provenBehind ? least + (most - least) / 2 : 0;
        }
    }

    private final Map<Integer, Map<Integer, Bounds>> bounds = new TreeMap<>();

    private Clocks(List<Recording> recordings) {
        for (TracedCollective collective : TracedCollective.of(recordings)) {
            if (collective.endsAfterLast()) {
                note(collective.arrivals());
            }
        }
    }

    /** How far each rank's clock is proven to be ahead of the first rank's; only those that are. */
    static Map<Integer, Long> ahead(List<Recording> recordings) {
        return new Clocks(recordings).solve(recordings);
    }

    /** The recordings with all times by the clock of the first rank. */
    static List<Recording> corrected(List<Recording> recordings, Map<Integer, Long> ahead) {
        List<Recording> corrected = new ArrayList<>();
        for (Recording each : recordings) {
            long nanos = ahead.getOrDefault(each.rank(), 0L);
            corrected.add(nanos == 0 ? each : each.shifted(-nanos));
        }
        return corrected;
    }

    private void note(List<TracedCollective.Arrival> arrivals) {
        for (TracedCollective.Arrival one : arrivals) {
            for (TracedCollective.Arrival other : arrivals) {
                if (one.rank() != other.rank() && one.completed() && other.completed()) {
                    Bounds otherAhead =
                            bounds.computeIfAbsent(one.rank(), rank -> new TreeMap<>())
                                    .computeIfAbsent(other.rank(), rank -> new Bounds());
                    otherAhead.least =
                            Math.max(otherAhead.least, other.startNanos() - one.endNanos());
                    otherAhead.most =
                            Math.min(otherAhead.most, other.endNanos() - one.startNanos());
                }
            }
        }
    }

    /**
     * Goes from rank to rank, so that ranks that share no group with the first are compared too.
     */
    private Map<Integer, Long> solve(List<Recording> recordings) {
        Map<Integer, Long> ahead = new TreeMap<>();
        TreeSet<Integer> ranks = new TreeSet<>();
        recordings.forEach(each -> ranks.add(each.rank()));
        for (int first : ranks) {
            if (ahead.putIfAbsent(first, 0L) != null) {
                continue;
            }
            ArrayDeque<Integer> queue = new ArrayDeque<>(List.of(first));
            while (!queue.isEmpty()) {
                int rank = queue.remove();
                bounds.getOrDefault(rank, Map.of())
                        .forEach(
                                (other, known) -> {
                                    if (known.areComplete() && !ahead.containsKey(other)) {
                                        ahead.put(other, ahead.get(rank) + known.ahead());
                                        queue.add(other);
                                    }
                                });
            }
        }
        ahead.values().removeIf(nanos -> nanos == 0);
        return ahead;
    }
}
