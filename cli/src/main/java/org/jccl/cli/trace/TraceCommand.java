package org.jccl.cli.trace;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jccl.cli.files.Unreadable;
import org.jccl.spi.Arrivals;
import picocli.CommandLine.Command;
import picocli.CommandLine.ExecutionException;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Joins the recordings of ranks under {@code JCCL_TRACE_DIR} into one trace. */
@Command(
        name = "trace",
        description =
                "Join the files that ranks wrote under JCCL_TRACE_DIR into one Chrome trace, and a"
                        + " timeline for the browser.",
        mixinStandardHelpOptions = true,
        footer = {
            "",
            "Ranks write their last 2000 operations of each group when it is closed or fails.",
            "",
            "Examples:",
            "  JCCL_TRACE_DIR=trace jccl run -n 4 app.jar",
            "  jccl trace trace --html timeline.html",
            "  jccl trace trace --html timeline.html --step 'barrier()'"
        })
public final class TraceCommand implements Callable<Integer> {

    private static final double NANOS_PER_MILLI = 1e6;

    private static final Pattern RANK = Pattern.compile("\\branks? \\[?(\\d+)");

    @Spec private CommandSpec spec;

    @Parameters(
            paramLabel = "DIR",
            description = "The folder that JCCL_TRACE_DIR names for the" + " ranks.")
    private Path folder;

    @Option(
            names = {"-o", "--output"},
            paramLabel = "FILE",
            description = "The trace to write; open it in ui.perfetto.dev (default: trace.json).")
    private Path output = Path.of("trace.json");

    @Option(
            names = "--html",
            paramLabel = "FILE",
            description =
                    "Also write a page with the timeline: which ranks wait, what overlaps, and the"
                            + " slowest rank of each step. It needs a browser and nothing else.")
    private Optional<Path> html = Optional.empty();

    @Option(
            names = "--step",
            paramLabel = "TEXT",
            defaultValue = "",
            description =
                    "A step begins with each collective whose text contains this. Default: the"
                            + " collective that repeats.")
    private String step;

    /** Creates the command, for picocli to fill. */
    public TraceCommand() {}

    @Override
    public Integer call() {
        PrintWriter out = spec.commandLine().getOut();
        if (!Files.isDirectory(folder)) {
            throw new ExecutionException(
                    spec.commandLine(),
                    folder
                            + " is not a folder; give the folder of JCCL_TRACE_DIR. Ranks that were"
                            + " killed write nothing there");
        }
        try {
            List<Unreadable> unreadable = new ArrayList<>();
            List<Recording> recordings = read(unreadable);
            unreadable.forEach(each -> spec.commandLine().getErr().println("jccl trace: " + each));
            spec.commandLine().getErr().flush();
            if (recordings.isEmpty()) {
                throw new ExecutionException(
                        spec.commandLine(),
                        (unreadable.isEmpty() ? "no recording in " : "no readable recording in ")
                                + folder
                                + "; start the ranks with JCCL_TRACE_DIR and close their groups");
            }
            Timeline timeline = Timeline.of(recordings, step);
            if (!step.isEmpty() && timeline.steps().isEmpty()) {
                throw new ExecutionException(
                        spec.commandLine(),
                        "no collective has '" + step + "' in its text, see --step");
            }
            writeTrace(timeline);
            int spans = recordings.stream().mapToInt(each -> each.spans().size()).sum();
            out.println(
                    output
                            + ": "
                            + spans
                            + " operations of "
                            + recordings.stream().map(Recording::rank).distinct().count()
                            + " ranks");
            if (html.isPresent()) {
                TimelinePage.write(timeline, html.get());
                out.println(html.get() + ": open it in a browser");
            }
            printUnrecorded(timeline, out);
            printFailures(timeline, out);
            printLateRanks(timeline, out);
            out.flush();
            return 0;
        } catch (IOException e) {
            throw new ExecutionException(spec.commandLine(), e.toString());
        }
    }

    private void writeTrace(Timeline timeline) throws IOException {
        try (ChromeTrace trace = new ChromeTrace(output, timeline.originNanos())) {
            for (Recording recording : timeline.recordings()) {
                trace.add(recording);
            }
        }
    }

    private static void printLateRanks(Timeline timeline, PrintWriter out) {
        if (!timeline.ahead().isEmpty()) {
            out.printf(
                    Locale.ROOT,
                    "the clocks of ranks %s differ from that of the first rank by up to %.3f ms;"
                            + " their times were corrected%n",
                    timeline.ahead().keySet(),
                    timeline.ahead().values().stream().mapToLong(Math::abs).max().orElseThrow()
                            / NANOS_PER_MILLI);
        }
        timeline.collectives().stream()
                .filter(each -> !each.missing().isEmpty())
                .findFirst()
                .ifPresent(
                        each ->
                                out.printf(
                                        Locale.ROOT,
                                        "%s of %s #%d did not complete: ranks %s did not reach it,"
                                                + " or recorded nothing%n",
                                        each.name(),
                                        each.group(),
                                        each.sequence(),
                                        each.missing()));
        Map<Integer, Long> waitedFor = new TreeMap<>();
        timeline.ranks().forEach(each -> waitedFor.put(each.rank(), each.waitedForNanos()));
        Longest longest = Longest.of(waitedFor);
        double millis = longest.nanos() / NANOS_PER_MILLI;
        if (longest.only() >= 0) {
            timeline.ranks().stream()
                    .filter(each -> each.rank() == longest.only())
                    .forEach(
                            each ->
                                    out.printf(
                                            Locale.ROOT,
                                            "the other ranks waited longest for rank %d: last in %d"
                                                    + " collectives, %.3f ms in all%n",
                                            each.rank(),
                                            each.last(),
                                            millis));
        } else if (!longest.ranks().isEmpty()) {
            out.printf(
                    Locale.ROOT,
                    "no rank stands out: the others waited equally long for ranks %s, up to %.3f"
                            + " ms in all%n",
                    Arrivals.ranks(longest.ranks()),
                    millis);
        }
    }

    /**
     * A rank that was killed has written nothing, and may be the one that the others waited for.
     */
    private static void printUnrecorded(Timeline timeline, PrintWriter out) {
        List<Integer> unrecorded = timeline.unrecorded();
        if (!unrecorded.isEmpty()) {
            out.printf(
                    Locale.ROOT,
                    "no recording of ranks %s: they were killed, still run, or wrote elsewhere."
                            + " The last rank of their collectives is unknown%n",
                    Arrivals.ranks(unrecorded));
        }
    }

    /** Prints the first failure, which causes the others. */
    private static void printFailures(Timeline timeline, PrintWriter out) {
        List<Recording> failed =
                timeline.recordings().stream()
                        .filter(each -> !each.failure().isEmpty())
                        .sorted(Comparator.comparingLong(Recording::writtenNanos))
                        .toList();
        if (failed.isEmpty()) {
            return;
        }
        // Ranks that only heard of the failure may have written before the one that had it.
        Optional<Recording> own =
                failed.stream().filter(each -> !namesAnotherRank(each)).findFirst();
        Recording first = own.orElse(failed.get(0));
        out.printf(
                Locale.ROOT,
                "the run failed, first %s rank %d in %s: %s%n",
                own.isPresent() ? "on" : "noticed by",
                first.rank(),
                first.group(),
                first.failure());
        List<Integer> ranks = failed.stream().map(Recording::rank).distinct().sorted().toList();
        if (ranks.size() > 1) {
            out.printf("groups of ranks %s failed%n", Arrivals.ranks(ranks));
        }
    }

    private static boolean namesAnotherRank(Recording recording) {
        return RANK.matcher(recording.failure())
                .results()
                .anyMatch(each -> !each.group(1).equals(Integer.toString(recording.rank())));
    }

    private List<Recording> read(List<Unreadable> unreadable) throws IOException {
        List<Recording> recordings = new ArrayList<>();
        try (Stream<Path> files = Files.list(folder)) {
            for (Path file :
                    files.filter(each -> each.getFileName().toString().matches("rank\\d+\\..*json"))
                            .sorted()
                            .toList()) {
                try {
                    recordings.add(Recording.read(file));
                } catch (IOException e) {
                    unreadable.add(Unreadable.of(file, e));
                }
            }
        }
        recordings.sort(Comparator.comparing(Recording::rank).thenComparing(Recording::group));
        return recordings;
    }
}
