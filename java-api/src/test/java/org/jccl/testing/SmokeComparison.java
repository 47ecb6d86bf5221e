package org.jccl.testing;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/**
 * Device times of the same call in Java and in C, size by size.
 *
 * @param rows a size each
 */
record SmokeComparison(List<Row> rows) {

    /** How much slower Java may be. */
    private static final double BAR = 1.03;

    /**
     * Microseconds of one call.
     *
     * @param bytes its size
     * @param java by this API
     * @param c by the library's own
     */
    record Row(long bytes, double java, double c) {

        double ratio() {
            return java / c;
        }

        boolean isOverBar() {
            return ratio() > BAR;
        }
    }

    /** Compares what the two programs printed; sizes that one lacks are left out. */
    static SmokeComparison of(String java, String c) {
        Map<Long, Double> inC = times(c);
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

    private static Map<Long, Double> times(String output) {
        Map<Long, Double> times = new TreeMap<>();
        for (String line : output.split("\n")) {
            if (line.matches("\\d+ \\d+\\.\\d+\\s*")) {
                String[] words = line.strip().split(" ");
                times.put(Long.parseLong(words[0]), Double.parseDouble(words[1]));
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
                        "\n## Device time of an allReduce, Java and C\n\n"
                                + "| bytes | Java, us | C, us | Java / C | at most 1.03 |\n"
                                + "|---|---|---|---|---|\n");
        for (Row row : rows) {
            text.append(
                    String.format(
                            Locale.ROOT,
                            "| %d | %.3f | %.3f | %.3f | %s |%n",
                            row.bytes(),
                            row.java(),
                            row.c(),
                            row.ratio(),
                            row.isOverBar() ? "no" : "yes"));
        }
        return rows.isEmpty() ? "" : text.toString();
    }
}
