package org.jccl.cli.top;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;

/** A {@link JobView} as lines of text. */
final class JobTable {

    private static final String RED = "\u001b[31m";
    private static final String YELLOW = "\u001b[33m";
    private static final String PLAIN = "\u001b[0m";
    private static final String FORMAT = "%5s %-8s %6s %8s %12s %12s  %s";

    private final int height;
    private final int width;
    private final boolean colored;

    /**
     * A table.
     *
     * @param height lines at most
     * @param width columns at most
     * @param colored whether states have colors
     */
    JobTable(int height, int width, boolean colored) {
        this.height = height;
        this.width = width;
        this.colored = colored;
    }

    List<String> lines(JobView view) {
        List<String> lines = new ArrayList<>();
        lines.add(
                Text.cut(
                        String.format(
                                Locale.ROOT,
                                FORMAT,
                                "RANK",
                                "STATE",
                                "BEHIND",
                                "FOR",
                                "OPS",
                                "BYTES",
                                "OPERATION"),
                        width));
        List<String> findings = view.findings();
        int shownFindings = Math.min(findings.size(), Math.max(1, height / 4));
        int room = Math.max(1, height - 1 - (shownFindings > 0 ? shownFindings + 2 : 0));
        List<JobView.Row> rows = view.rows();
        if (rows.size() > room) {
            // The ranks with problems first, as many as fit, and a line with the number of the
            // others.
            rows =
                    rows.stream()
                            .sorted(
                                    Comparator.comparing(
                                                    (JobView.Row row) -> !row.health().isGone())
                                            .thenComparing(row -> -row.behind())
                                            .thenComparing(row -> -row.runningMillis())
                                            .thenComparing(JobView.Row::rank))
                            .limit(room - 1)
                            .toList();
        }
        rows.forEach(row -> lines.add(line(row)));
        if (rows.size() < view.rows().size()) {
            lines.add("... and " + (view.rows().size() - rows.size()) + " more ranks");
        }
        if (shownFindings > 0) {
            lines.add("");
            findings.stream()
                    .limit(shownFindings)
                    .forEach(each -> lines.add(Text.cut(each, width)));
            if (findings.size() > shownFindings) {
                lines.add("... and " + (findings.size() - shownFindings) + " more");
            }
        }
        return lines;
    }

    private String line(JobView.Row row) {
        String color = row.health().isGone() ? RED : row.behind() > 0 ? YELLOW : "";
        boolean live = row.health() == Health.ALIVE;
        String text =
                String.format(
                        Locale.ROOT,
                        FORMAT,
                        row.rank(),
                        row.health(),
                        row.behind() == 0 ? "" : row.behind(),
                        row.runningMillis() < 0 ? "" : Text.duration(row.runningMillis()),
                        live ? Text.rate(row.file().orElseThrow().operationsPerSecond(), "") : "",
                        live ? Text.rate(row.file().orElseThrow().bytesPerSecond(), "B") : "",
                        row.group().map(JobTable::operation).orElse(""));
        String cut = Text.cut(text.stripTrailing(), width);
        return colored && !color.isEmpty() ? color + cut + PLAIN : cut;
    }

    private static String operation(RankFile.Group group) {
        if (!group.running().isEmpty()) {
            String number = group.runningSequence() < 0 ? "" : group.runningSequence() + " ";
            return group.name() + ": " + number + group.running();
        }
        return group.started() < 0
                ? group.name() + ": nothing yet"
                : group.name() + ": after " + group.started();
    }
}
