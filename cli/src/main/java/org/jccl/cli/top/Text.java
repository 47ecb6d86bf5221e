package org.jccl.cli.top;

import java.util.Locale;

/** Figures as people read them. */
final class Text {

    private static final String[] PREFIXES = {"", "K", "M", "G", "T", "P"};

    private Text() {}

    /** For instance {@code 1.4 s} or {@code 3m12s}. */
    static String duration(long millis) {
        if (millis < 60_000) {
            return String.format(Locale.ROOT, "%.1f s", millis / 1e3);
        }
        long seconds = millis / 1000;
        if (seconds < 3600) {
            return String.format(Locale.ROOT, "%dm%02ds", seconds / 60, seconds % 60);
        }
        return String.format(Locale.ROOT, "%dh%02dm", seconds / 3600, seconds / 60 % 60);
    }

    /** For instance {@code 1.4 MB/s}; decimal, as bandwidths are. */
    static String rate(double perSecond, String unit) {
        double value = perSecond;
        int prefix = 0;
        while (value >= 999.5 && prefix < PREFIXES.length - 1) {
            value /= 1000;
            prefix++;
        }
        String format = value < 9.95 && prefix > 0 ? "%.1f %s%s/s" : "%.0f %s%s/s";
        return String.format(Locale.ROOT, format, value, PREFIXES[prefix], unit).replace(" /", "/");
    }

    /** As one line cut to a width, with dots where something is missing. */
    static String cut(String text, int width) {
        String line = text.replaceAll("\\p{Cntrl}+", " ");
        return line.length() <= width ? line : line.substring(0, Math.max(0, width - 3)) + "...";
    }
}
