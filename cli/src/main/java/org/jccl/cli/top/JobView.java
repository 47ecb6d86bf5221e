package org.jccl.cli.top;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.jccl.cli.files.Unreadable;

/** A job at one moment: the state of each rank, and which ranks wait for which others. */
final class JobView {

    private static final int RANKS_NAMED = 8;
    private static final long REPORTED_MILLIS = 1000;

    /**
     * One rank.
     *
     * @param rank in the world
     * @param health its state
     * @param file its last file; empty if it has written none
     * @param silentMillis the time since it last wrote
     * @param group the group of the row, which is the one that delays the rank longest
     * @param behind by how many collectives it is behind another rank of that group; 0 if it is
     *     gone, since that is unknown then
     */
    record Row(
            int rank,
            Health health,
            Optional<RankFile> file,
            long silentMillis,
            Optional<RankFile.Group> group,
            long behind) {

        /** How long its current operation has run, or -1. */
        long runningMillis() {
            return group.filter(each -> !each.running().isEmpty())
                    .map(each -> each.runningMillis() + (health.isGone() ? silentMillis : 0))
                    .orElse(-1L);
        }
    }

    private final List<Row> rows = new ArrayList<>();
    private final List<String> findings = new ArrayList<>();

    /**
     * Compares ranks.
     *
     * @param files the last file of each rank, in any order
     * @param unreadable the files that are no such files
     * @param nowMillis since 1970
     */
    JobView(List<RankFile> files, List<Unreadable> unreadable, long nowMillis) {
        Map<Integer, RankFile> byRank = new TreeMap<>();
        int size = 0;
        for (RankFile file : files) {
            byRank.merge(
                    file.rank(),
                    file,
                    (one, other) -> one.writtenMillis() > other.writtenMillis() ? one : other);
            size = Math.max(size, file.size());
        }
        Map<String, Long> furthest = new HashMap<>();
        for (RankFile file : byRank.values()) {
            file.groups().forEach(each -> furthest.merge(each.name(), each.started(), Math::max));
        }
        for (int rank = 0; rank < size; rank++) {
            rows.add(row(rank, Optional.ofNullable(byRank.get(rank)), furthest, nowMillis));
        }
        unreadable.forEach(each -> findings.add(each.toString()));
        explain(furthest);
    }

    private static Row row(
            int rank, Optional<RankFile> file, Map<String, Long> furthest, long nowMillis) {
        if (file.isEmpty()) {
            return new Row(rank, Health.MISSING, file, 0, Optional.empty(), 0);
        }
        RankFile said = file.get();
        Optional<RankFile.Group> group =
                said.groups().stream()
                        .max(
                                Comparator.comparingLong(
                                                (RankFile.Group each) -> lag(each, furthest))
                                        .thenComparingLong(RankFile.Group::runningMillis)
                                        .thenComparingLong(RankFile.Group::started));
        Health health = Health.of(said, nowMillis);
        return new Row(
                rank,
                health,
                file,
                Math.max(0, nowMillis - said.writtenMillis()),
                group,
                // What a rank that is gone last wrote is older than what the others write.
                health.isGone() ? 0 : group.map(each -> lag(each, furthest)).orElse(0L));
    }

    private static long lag(RankFile.Group group, Map<String, Long> furthest) {
        return furthest.get(group.name()) - group.started();
    }

    /** Finds, for each group in which ranks wait, the ranks for which they wait. */
    private void explain(Map<String, Long> furthest) {
        for (Row row : rows) {
            if (row.health.isGone()) {
                findings.add(
                        "rank "
                                + row.rank
                                + " is "
                                + row.health
                                + ": it last wrote "
                                + Text.duration(row.silentMillis)
                                + " ago"
                                + row.file
                                        .map(
                                                file ->
                                                        ", process "
                                                                + file.pid()
                                                                + " on "
                                                                + file.host())
                                        .orElse(""));
            }
            if (row.health == Health.FAILED) {
                findings.add("rank " + row.rank + " failed: " + row.file.orElseThrow().failure());
            }
            row.file.ifPresent(
                    file ->
                            file.groups().stream()
                                    .filter(group -> !group.failure().isEmpty())
                                    .forEach(
                                            group ->
                                                    findings.add(
                                                            "rank "
                                                                    + row.rank
                                                                    + ", group "
                                                                    + group.name()
                                                                    + " failed: "
                                                                    + group.failure())));
        }
        for (String group : furthest.keySet().stream().sorted().toList()) {
            explain(group, furthest.get(group));
        }
    }

    /** A rank waits if it is in the furthest collective and others are not, or are gone. */
    private void explain(String name, long furthest) {
        List<Integer> waiting = new ArrayList<>();
        List<Integer> awaited = new ArrayList<>();
        String operation = "";
        long position = furthest;
        long longest = -1;
        // If a rank ended during an operation, some ranks may already be in the next one.
        boolean someGone =
                rows.stream()
                        .filter(row -> row.health.isGone())
                        .flatMap(row -> row.file.stream())
                        .flatMap(file -> file.groups().stream())
                        .anyMatch(each -> each.name().equals(name));
        for (Row row : rows) {
            Optional<RankFile.Group> found =
                    row.file.stream()
                            .flatMap(file -> file.groups().stream())
                            .filter(each -> each.name().equals(name))
                            .findFirst();
            if (found.isEmpty()) {
                continue;
            }
            RankFile.Group group = found.get();
            boolean inside =
                    group.runningSequence() >= 0
                            && (someGone || group.runningSequence() == furthest);
            if (row.health.isGone() || !someGone && group.started() < furthest) {
                awaited.add(row.rank);
            } else if (inside) {
                waiting.add(row.rank);
                if (group.runningMillis() > longest) {
                    longest = group.runningMillis();
                    operation = group.running();
                    position = group.runningSequence();
                }
            }
        }
        // Short waits are normal.
        if (!waiting.isEmpty() && !awaited.isEmpty() && longest >= REPORTED_MILLIS) {
            findings.add(
                    String.format(
                            Locale.ROOT,
                            "%s: %s in operation %d %s for up to %s, for %s",
                            name,
                            ranks(waiting) + (waiting.size() == 1 ? " waits" : " wait"),
                            position,
                            operation,
                            Text.duration(longest),
                            ranks(awaited)));
        }
    }

    private static String ranks(List<Integer> ranks) {
        String named =
                ranks.stream()
                        .limit(RANKS_NAMED)
                        .map(String::valueOf)
                        .collect(Collectors.joining(", "));
        int more = ranks.size() - RANKS_NAMED;
        return (ranks.size() == 1 ? "rank " : "ranks ")
                + named
                + (more > 0 ? " and " + more + " more" : "");
    }

    /** The ranks, in order. */
    List<Row> rows() {
        return rows;
    }

    /** The problems, as text; empty if all ranks make progress. */
    List<String> findings() {
        return findings;
    }

    /** Whether no rank will change any more. */
    boolean isOver() {
        return !rows.isEmpty()
                && rows.stream()
                        .allMatch(
                                row ->
                                        row.health == Health.ENDED
                                                || row.health == Health.FAILED
                                                || row.health == Health.DEAD);
    }

    /** Whether every rank has closed its world. */
    boolean endedWell() {
        return rows.stream().allMatch(row -> row.health == Health.ENDED);
    }
}
