package org.jccl.cli.trace;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * How far ranks' clocks are from that of the first rank, as far as the recordings prove it.
 *
 * <p>Where all wait for all, nobody ends before the last has come. A recording that says otherwise
 * was made with clocks that differ, by at least as much. The same from the other rank's side is an
 * upper bound, and the middle of both is what times are moved by. Clocks that differ by less than
 * operations take can not be told from ranks that come late.
 */
final class Clocks {

    /** What reading two clocks one after the other may be off, on one host too. */
    private static final long NOISE_NANOS = 20_000;

    /** What is known about how far the clock of one rank is ahead of another's. */
    private static final class Bounds {
        private long least = Long.MIN_VALUE;
        private long most = Long.MAX_VALUE;

        private boolean known() {
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
        for (Collective collective : Collective.of(recordings)) {
            if (collective.endsAfterLast()) {
                note(collective.arrivals());
            }
        }
    }

    /** By how much each rank's clock is proven to be ahead of the first rank's, if at all. */
    static Map<Integer, Long> ahead(List<Recording> recordings) {
        return new Clocks(recordings).solve(recordings);
    }

    /** The same recordings by the clock of the first rank. */
    static List<Recording> corrected(List<Recording> recordings, Map<Integer, Long> ahead) {
        List<Recording> corrected = new ArrayList<>();
        for (Recording each : recordings) {
            long nanos = ahead.getOrDefault(each.rank(), 0L);
            corrected.add(nanos == 0 ? each : each.shifted(-nanos));
        }
        return corrected;
    }

    private void note(List<Collective.Arrival> arrivals) {
        for (Collective.Arrival one : arrivals) {
            for (Collective.Arrival other : arrivals) {
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

    /** From rank to rank, so that also those are compared that share no group with the first. */
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
                                    if (known.known() && !ahead.containsKey(other)) {
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
