package org.jccl.cli.trace;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;

/**
 * One collective as its ranks went through it.
 *
 * @param group name and backend
 * @param sequence position in the group
 * @param name the operation's text
 * @param onDevice whether it runs on devices, where only the call is seen and not its beginning
 * @param arrivals of the ranks that have recorded it, the first to come first
 * @param missing ranks that have not come to it, or have not recorded anything, where it did not
 *     end
 */
record Collective(
        String group,
        long sequence,
        String name,
        boolean onDevice,
        List<Arrival> arrivals,
        List<Integer> missing) {

    /** These end on no rank before all have come, unless there is nothing to send. */
    private static final Pattern ALL_NEED_ALL =
            Pattern.compile(
                    "barrier\\(\\)|(allReduce|allGather|reduceScatter|allToAll)\\((?!.*( x 0\\b|\\[)).*");

    /**
     * When a rank called the library with it, and when it was over.
     *
     * @param rank in the world
     * @param startNanos its arrival
     * @param endNanos its end; meaningless unless completed
     * @param completed whether it ended
     */
    record Arrival(int rank, long startNanos, long endNanos, boolean completed) {}

    /** All collectives of the recordings, by the time of the first arrival. */
    static List<Collective> of(List<Recording> recordings) {
        Map<String, Map<Long, Collective>> found = new TreeMap<>();
        for (Recording recording : recordings) {
            Map<Long, Collective> ofGroup =
                    found.computeIfAbsent(recording.group(), group -> new TreeMap<>());
            for (Recording.Span span : recording.spans()) {
                if (span.collective()) {
                    ofGroup.computeIfAbsent(
                                    span.sequence(),
                                    sequence ->
                                            new Collective(
                                                    recording.group(),
                                                    sequence,
                                                    span.name(),
                                                    recording.onDevice(),
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
        List<Collective> all = new ArrayList<>();
        for (Map.Entry<String, Map<Long, Collective>> group : found.entrySet()) {
            Map<Integer, Long> firsts = firstOfMembers(group.getKey(), recordings);
            for (Collective each : group.getValue().values()) {
                each.arrivals.sort(Comparator.comparingLong(Arrival::startNanos));
                each.noteMissing(firsts);
                all.add(each);
            }
        }
        all.sort(Comparator.comparingLong(Collective::firstNanos));
        return all;
    }

    /** The first collective that each member still has; earlier ones are no longer kept. */
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

    long firstNanos() {
        return arrivals.get(0).startNanos();
    }

    long lastNanos() {
        return arrivals.get(arrivals.size() - 1).startNanos();
    }

    /** The rank that came last. */
    int lastRank() {
        return arrivals.get(arrivals.size() - 1).rank();
    }

    /** Whether it can end on no rank before all have come. */
    boolean endsAfterLast() {
        return arrivals.size() > 1 && ALL_NEED_ALL.matcher(name).matches();
    }

    /** Whether those that came earlier are seen to wait for the last. */
    boolean allWaitForLast() {
        return endsAfterLast() && !onDevice && missing.isEmpty();
    }

    /** How long the first to come had to wait for the last. */
    long waitedNanos() {
        return allWaitForLast() ? lastNanos() - firstNanos() : 0;
    }
}
