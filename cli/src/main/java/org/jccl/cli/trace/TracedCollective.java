package org.jccl.cli.trace;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Pattern;

/**
 * One collective with the times of its ranks.
 *
 * @param group name and backend
 * @param sequence position in the group
 * @param name the operation's text
 * @param onDevice whether it runs on devices, where the recording has the call but not the
 *     beginning
 * @param arrivals the ranks that have recorded it, in the order of their arrival
 * @param missing if it did not end, the ranks that did not arrive or recorded nothing
 * @param unknown the members of the group of which the recordings do not have it, so that nobody
 *     knows whether they came last
 */
record TracedCollective(
        String group,
        long sequence,
        String name,
        boolean onDevice,
        List<Arrival> arrivals,
        List<Integer> missing,
        List<Integer> unknown) {

    /** Collectives that end on no rank before all have arrived, unless there is nothing to send. */
    private static final Pattern ALL_NEED_ALL =
            Pattern.compile(
                    "barrier\\(\\)|(allReduce|allGather|reduceScatter|allToAll)\\((?!.*( x 0\\b|\\[)).*");

    /**
     * When a rank called the library, and when the collective ended there.
     *
     * @param rank in the world
     * @param startNanos its arrival
     * @param endNanos its end; meaningless unless completed
     * @param completed whether it ended
     */
    record Arrival(int rank, long startNanos, long endNanos, boolean completed) {}

    /** All collectives of the recordings, in the order of their first arrivals. */
    static List<TracedCollective> of(List<Recording> recordings) {
        Map<String, Map<Long, TracedCollective>> found = new TreeMap<>();
        for (Recording recording : recordings) {
            Map<Long, TracedCollective> ofGroup =
                    found.computeIfAbsent(recording.group(), group -> new TreeMap<>());
            for (Recording.Span span : recording.spans()) {
                if (span.collective()) {
                    ofGroup.computeIfAbsent(
                                    span.sequence(),
                                    sequence ->
                                            new TracedCollective(
                                                    recording.group(),
                                                    sequence,
                                                    span.name(),
                                                    recording.onDevice(),
                                                    new ArrayList<>(),
                                                    new ArrayList<>(),
                                                    new ArrayList<>()))
                            .arrivals
                            .add(
                                    new Arrival(
                                            recording.rank(),
                                            span.startNanos(),
                                            span.endNanos(),
                                            span.completed()));
                }
            }
        }
        List<TracedCollective> all = new ArrayList<>();
        for (Map.Entry<String, Map<Long, TracedCollective>> group : found.entrySet()) {
            Map<Integer, Long> firsts = firstOfMembers(group.getKey(), recordings);
            for (TracedCollective each : group.getValue().values()) {
                each.arrivals.sort(Comparator.comparingLong(Arrival::startNanos));
                each.noteMissing(firsts);
                each.noteUnknown(firsts.keySet());
                all.add(each);
            }
        }
        all.sort(Comparator.comparingLong(TracedCollective::firstNanos));
        return all;
    }

    /** The first collective that each member has recorded; earlier ones were overwritten. */
    private static Map<Integer, Long> firstOfMembers(String group, List<Recording> recordings) {
        Map<Integer, Long> firsts = new TreeMap<>();
        for (Recording recording : recordings) {
            if (recording.group().equals(group)) {
                recording.members().forEach(member -> firsts.putIfAbsent(member, 0L));
                recording.spans().stream()
                        .filter(Recording.Span::collective)
                        .mapToLong(Recording.Span::sequence)
                        .min()
                        .ifPresent(first -> firsts.put(recording.rank(), first));
            }
        }
        return firsts;
    }

    private void noteMissing(Map<Integer, Long> firsts) {
        if (arrivals.stream().allMatch(Arrival::completed)) {
            return;
        }
        firsts.forEach(
                (rank, first) -> {
                    if (first <= sequence
                            && arrivals.stream().noneMatch(each -> each.rank() == rank)) {
                        missing.add(rank);
                    }
                });
    }

    private void noteUnknown(Set<Integer> members) {
        members.stream()
                .filter(rank -> arrivals.stream().noneMatch(each -> each.rank() == rank))
                .forEach(unknown::add);
    }

    long firstNanos() {
        return arrivals.get(0).startNanos();
    }

    long lastNanos() {
        return arrivals.get(arrivals.size() - 1).startNanos();
    }

    /** The rank that arrived last. */
    int lastRank() {
        return arrivals.get(arrivals.size() - 1).rank();
    }

    /** Whether it can end on no rank before all have arrived. */
    boolean endsAfterLast() {
        return arrivals.size() > 1 && ALL_NEED_ALL.matcher(name).matches();
    }

    /** Whether the recording shows that the other ranks waited for the last one. */
    boolean allWaitForLast() {
        return endsAfterLast() && !onDevice && unknown.isEmpty();
    }

    /** How long the first rank waited for the last one. */
    long waitedNanos() {
        return allWaitForLast() ? lastNanos() - firstNanos() : 0;
    }
}
