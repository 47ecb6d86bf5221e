package org.jccl.cli.trace;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.TreeSet;

/**
 * How one rank spent its time. Only messages that blocked are included.
 *
 * @param rank in the world
 * @param operations the number that it has recorded
 * @param busyNanos the time with at least one operation in flight
 * @param blockedNanos the part of that time in which an operation blocked a thread of the program
 * @param blockedKnown whether its recordings have blocked threads
 * @param waitedNanos the time in collectives until the last rank had arrived
 * @param last the number of collectives in which it arrived last and others waited for it
 * @param waitedForNanos how long the first rank waited in those
 */
record RankSummary(
        int rank,
        int operations,
        long busyNanos,
        long blockedNanos,
        boolean blockedKnown,
        long waitedNanos,
        int last,
        long waitedForNanos) {

    private record Interval(long start, long end) {}

    static List<RankSummary> of(List<Recording> recordings, List<TracedCollective> collectives) {
        TreeSet<Integer> ranks = new TreeSet<>();
        recordings.forEach(each -> ranks.add(each.rank()));
        recordings.forEach(each -> ranks.addAll(each.members())); // also those that wrote nothing
        List<RankSummary> all = new ArrayList<>();
        for (int rank : ranks) {
            all.add(
                    of(
                            rank,
                            recordings.stream().filter(each -> each.rank() == rank).toList(),
                            collectives));
        }
        return all;
    }

    private static RankSummary of(
            int rank, List<Recording> own, List<TracedCollective> collectives) {
        List<Interval> busy = new ArrayList<>();
        List<Interval> blocked = new ArrayList<>();
        for (Recording recording : own) {
            recording.spans().forEach(s -> busy.add(new Interval(s.startNanos(), s.endNanos())));
            recording.waits().forEach(w -> blocked.add(new Interval(w.startNanos(), w.endNanos())));
        }
        List<Interval> busyOnce = union(busy);
        long waited = 0;
        int last = 0;
        long waitedFor = 0;
        for (TracedCollective collective : collectives) {
            if (!collective.allWaitForLast()) {
                continue;
            }
            for (TracedCollective.Arrival arrival : collective.arrivals()) {
                if (arrival.rank() == rank) {
                    waited += collective.lastNanos() - arrival.startNanos();
                }
            }
            if (collective.lastRank() == rank && collective.waitedNanos() > 0) {
                last++;
                waitedFor += collective.waitedNanos();
            }
        }
        return new RankSummary(
                rank,
                own.stream().mapToInt(each -> each.spans().size()).sum(),
                length(busyOnce),
                overlap(busyOnce, union(blocked)),
                !blocked.isEmpty(),
                waited,
                last,
                waitedFor);
    }

    private static List<Interval> union(List<Interval> intervals) {
        List<Interval> sorted = new ArrayList<>(intervals);
        sorted.sort(Comparator.comparingLong(Interval::start));
        List<Interval> union = new ArrayList<>();
        for (Interval each : sorted) {
            int newest = union.size() - 1;
            if (newest >= 0 && each.start() <= union.get(newest).end()) {
                Interval before = union.get(newest);
                union.set(newest, new Interval(before.start(), Math.max(before.end(), each.end())));
            } else {
                union.add(each);
            }
        }
        return union;
    }

    private static long length(List<Interval> union) {
        return union.stream().mapToLong(each -> each.end() - each.start()).sum();
    }

    private static long overlap(List<Interval> one, List<Interval> other) {
        long overlap = 0;
        int j = 0;
        for (Interval each : one) {
            while (j < other.size() && other.get(j).end() <= each.start()) {
                j++;
            }
            for (int k = j; k < other.size() && other.get(k).start() < each.end(); k++) {
                overlap +=
                        Math.min(each.end(), other.get(k).end())
                                - Math.max(each.start(), other.get(k).start());
            }
        }
        return overlap;
    }
}
