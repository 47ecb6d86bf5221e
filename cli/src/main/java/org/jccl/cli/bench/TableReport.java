package org.jccl.cli.bench;

import java.io.PrintWriter;
import java.util.Locale;
import org.jccl.DataType;
import org.jccl.cli.bench.Collective.Placement;

/** The table of nccl-tests: the same columns, and comments after a number sign. */
final class TableReport implements Report {

    private static final String HALF = "  %7s  %6s  %6s  %6s";
    private static final String KEYS = "%12s  %12s  %8s  %6s  %6s";

    private final PrintWriter out;
    private final Setting setting;
    private long wrong;
    private double busBandwidths;
    private int results;

    TableReport(PrintWriter out, Setting setting) {
        this.out = out;
        this.setting = setting;
    }

    @Override
    public void begin(Collective collective) {
        wrong = 0;
        busBandwidths = 0;
        results = 0;
        BenchOptions options = setting.options();
        line(
                "# jccl version %s backend=%s library=%s java=%s",
                setting.host().version(),
                setting.backend(),
                setting.library().version(),
                setting.host().java());
        line("# Collective test starting: %s", collective);
        line(
                "# nRanks %d minBytes %d maxBytes %d step: %d(factor) warmup iters: %s iters: %s"
                        + " agg iters: 1 validation: 1 mode: %s",
                setting.devices().size(),
                options.minBytes(),
                options.maxBytes(),
                options.factor(),
                options.warmUp().isPresent() ? options.warmUp().getAsInt() : "auto",
                options.iterations().isPresent()
                        ? options.iterations().getAsInt()
                        : "auto(" + options.budgetSeconds() + " s)",
                options.mode());
        line(
                "# time: median wall time of one call on rank 0; on a device a share of those enqueued together");
        line("#");
        line("# Using devices");
        setting.devices().forEach(device -> line("#  %s", device));
        line("#");
        String blank = " ".repeat(KEYS.formatted("", "", "", "", "").length() - 1);
        line("#%s%s%s", blank, centered("out-of-place"), centered("in-place"));
        header("size", "count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong");
        header("(B)", "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", "");
    }

    private static String centered(String title) {
        int width = HALF.formatted("", "", "", "").length();
        int left = (width + title.length()) / 2;
        return ("%" + left + "s%" + (width - left) + "s").formatted(title, "");
    }

    private void header(
            String size,
            String count,
            String type,
            String op,
            String root,
            String time,
            String algorithm,
            String bus,
            String wrongs) {
        String keys = KEYS.formatted(size, count, type, op, root);
        String half = HALF.formatted(time, algorithm, bus, wrongs);
        line("#%s%s%s", keys.substring(1), half, half);
    }

    @Override
    public void row(Row row) {
        String keys =
                KEYS.formatted(
                        row.bytes(),
                        row.count(),
                        row.type().map(TableReport::shortName).orElse("none"),
                        row.op().orElse("none"),
                        row.root());
        line("%s%s%s", keys, half(row, Placement.OUT_OF_PLACE), half(row, Placement.IN_PLACE));
    }

    private String half(Row row, Placement placement) {
        Row.Result result = row.results().get(placement);
        if (result == null) {
            return HALF.formatted("N/A", "N/A", "N/A", "N/A");
        }
        wrong += result.wrong();
        busBandwidths += row.busBandwidth(result);
        results++;
        return HALF.formatted(
                number(result.timing().medianMicros(), 7),
                number(row.algorithmBandwidth(result), 6),
                number(row.busBandwidth(result), 6),
                result.wrong());
    }

    @Override
    public void end(Collective collective) {
        line("# Out of bounds values : %d %s", wrong, wrong == 0 ? "OK" : "FAILED");
        line("# Avg bus bandwidth    : %s", number(busBandwidths / Math.max(1, results), 7));
        line("#");
        line("# Collective test concluded: %s", collective);
        line("#");
        out.flush();
    }

    /** Two decimals, or as many as fit, or else an exponent. */
    static String number(double value, int width) {
        for (int decimals = 2; decimals >= 0; decimals--) {
            String text = String.format(Locale.ROOT, "%." + decimals + "f", value);
            if (text.length() <= width) {
                return text;
            }
        }
        return String.format(Locale.ROOT, "%.1e", value);
    }

    /** The type as nccl-tests writes it. */
    static String shortName(DataType type) {
        return switch (type) {
            case FLOAT16 -> "half";
            case FLOAT32 -> "float";
            case FLOAT64 -> "double";
            case FLOAT8_E4M3 -> "f8e4m3";
            case FLOAT8_E5M2 -> "f8e5m2";
            default -> type.toString();
        };
    }

    private void line(String format, Object... values) {
        out.println(String.format(Locale.ROOT, format, values).stripTrailing());
    }
}
