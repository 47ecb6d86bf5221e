package org.jccl.testing;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/**
 * Device and host times of the same call in Java and in C, size by size.
 *
 * @param rows a size each
 */
record SmokeComparison(List<Row> rows) {

    /** How much longer the device may take. */
    private static final double BAR = 1.03;

    /**
     * Microseconds of one call.
     *
     * @param device how long it runs
     * @param host how long enqueuing it takes
     */
    record Times(double device, double host) {}

    /**
     * One size.
     *
     * @param bytes the size
     * @param java by this API
     * @param c by the library's own
     */
    record Row(long bytes, Times java, Times c) {

        double ratio() {
            return java.device / c.device;
        }

        boolean isOverBar() {
            return ratio() > BAR;
        }
    }

    /** Compares what the two programs printed; sizes that one lacks are left out. */
    static SmokeComparison of(String java, String c) {
        Map<Long, Times> inC = times(c);
        List<Row> rows = new ArrayList<>();
        times(java)
                .forEach(
                        (bytes, time) -> {
                            if (inC.containsKey(bytes)) {
                                rows.add(new Row(bytes, time, inC.get(bytes)));
                            }
                        });
        return new SmokeComparison(rows);
    }

    private static Map<Long, Times> times(String output) {
        Map<Long, Times> times = new TreeMap<>();
        for (String line : output.split("\n")) {
            if (line.matches("\\d+ \\d+\\.\\d+ \\d+\\.\\d+\\s*")) {
                String[] words = line.strip().split(" ");
                times.put(
                        Long.parseLong(words[0]),
                        new Times(Double.parseDouble(words[1]), Double.parseDouble(words[2])));
            }
        }
        return times;
    }

    /** What the verdict says of it, or nothing. */
    String verdict() {
        List<String> over =
                rows.stream().filter(Row::isOverBar).map(row -> row.bytes() + " B").toList();
        return over.isEmpty()
                ? ""
                : "; device time more than 3 percent over C at " + String.join(", ", over);
    }

    String markdown() {
        StringBuilder text =
                new StringBuilder(
                        "\n## Time of an allReduce, Java and C\n\nIn microseconds.\n\n"
                                + "| bytes | device, Java | device, C | Java / C | at most 1.03 |"
                                + " host, Java | host, C |\n"
                                + "|---|---|---|---|---|---|---|\n");
        for (Row row : rows) {
            text.append(
                    String.format(
                            Locale.ROOT,
                            "| %d | %.3f | %.3f | %.3f | %s | %.3f | %.3f |%n",
                            row.bytes(),
                            row.java().device(),
                            row.c().device(),
                            row.ratio(),
                            row.isOverBar() ? "no" : "yes",
                            row.java().host(),
                            row.c().host()));
        }
        return rows.isEmpty() ? "" : text.toString();
    }
}
