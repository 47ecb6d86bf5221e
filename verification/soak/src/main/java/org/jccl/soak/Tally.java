package org.jccl.soak;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/** What was counted and found, by backend and fault. */
final class Tally {

    /** Something that must not be. */
    record Finding(Backend backend, Fault fault, long seed, String kind, String text) {}

    /** Counts of one backend under one fault. */
    static final class Row {
        int cases;
        long operations;
        long elements;
        long refused;
        int survivors;
        int named;
        int regrouped;

        /** Ranks that failed, by their deadline, before the fault was to happen. */
        int missed;

        double longest;
        String longestCase = "";
        final Map<String, Integer> exceptions = new TreeMap<>();
        final Map<String, Integer> findings = new TreeMap<>();
    }

    private final Map<Backend, Map<Fault, Row>> rows = new EnumMap<>(Backend.class);
    private final List<Finding> findings = new ArrayList<>();
    private final List<String> resources = new ArrayList<>();

    synchronized Row row(Backend backend, Fault fault) {
        return rows.computeIfAbsent(backend, key -> new EnumMap<>(Fault.class))
                .computeIfAbsent(fault, key -> new Row());
    }

    /** The options that decide what a seed draws, as in {@code " --ranks 3"}. */
    private final String options;

    Tally(String options) {
        this.options = options;
    }

    synchronized void found(Backend backend, Fault fault, long seed, String kind, String text) {
        findings.add(new Finding(backend, fault, seed, kind, text));
        row(backend, fault).findings.merge(kind, 1, Integer::sum);
        System.out.printf("FOUND %s: %s %s, seed %d: %s%n", kind, backend, fault, seed, text);
    }

    /**
     * Records a finding in a world. The seed alone draws another world if the options differ.
     *
     * @param text what was found
     */
    void foundInWorld(Backend backend, Fault fault, long seed, String kind, String text) {
        found(backend, fault, seed, kind, text + "; " + repeat(backend, seed, options));
    }

    /** Returns the command that runs one world again. */
    static String repeat(Backend backend, long seed, String options) {
        return "repeat it by script/soak 1 --backend %s%s --case-seed %d"
                .formatted(backend.name().toLowerCase(Locale.ROOT), options, seed);
    }

    synchronized void resources(String line) {
        resources.add(line);
    }

    synchronized List<Finding> findings() {
        return List.copyOf(findings);
    }

    Map<Backend, Map<Fault, Row>> rows() {
        return rows;
    }

    List<String> resources() {
        return resources;
    }

    /** Two tables in Markdown. */
    synchronized String table() {
        StringBuilder text =
                new StringBuilder(
                        "| backend | fault | worlds | operations | elements checked | wrong |"
                                + " hangs | crashes | other findings | survivors that named the"
                                + " rank | regrouped | longest, fault to exception |\n"
                                + "|---|---|---|---|---|---|---|---|---|---|---|---|\n");
        rows.forEach(
                (backend, faults) ->
                        faults.forEach((fault, row) -> append(text, backend, fault, row)));
        if (!resources.isEmpty()) {
            text.append(
                    "\n| process | worlds | heap (KB) | resident (MB) | threads | descriptors |\n"
                            + "|---|---|---|---|---|---|\n");
            resources.forEach(line -> text.append(line).append('\n'));
        }
        return text.toString();
    }

    private static void append(StringBuilder text, Backend backend, Fault fault, Row row) {
        int others =
                row.findings.entrySet().stream()
                        .filter(each -> !List.of("wrong", "hang", "crash").contains(each.getKey()))
                        .mapToInt(Map.Entry::getValue)
                        .sum();
        text.append(
                String.format(
                        Locale.ROOT,
                        "| %s | %s | %d | %d | %d | %d | %d | %d | %d | %s | %s | %s |%n",
                        backend.name().toLowerCase(Locale.ROOT),
                        fault.name().toLowerCase(Locale.ROOT),
                        row.cases,
                        row.operations,
                        row.elements,
                        row.findings.getOrDefault("wrong", 0),
                        row.findings.getOrDefault("hang", 0),
                        row.findings.getOrDefault("crash", 0),
                        others,
                        fault.fails() ? row.named + " of " + row.survivors : "",
                        fault.fails() ? row.regrouped : "",
                        fault.fails() ? String.format(Locale.ROOT, "%.2f s", row.longest) : ""));
    }
}
