package org.jccl.cli.trace;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Joins what ranks recorded under {@code JCCL_TRACE_DIR} into one trace. */
@Command(
        name = "trace",
        description =
                "Joins the files that ranks wrote under JCCL_TRACE_DIR into one Chrome trace.",
        mixinStandardHelpOptions = true)
public final class TraceCommand implements Callable<Integer> {

    @Spec private CommandSpec spec;

    @Parameters(paramLabel = "DIR", description = "The folder that was named by JCCL_TRACE_DIR.")
    private Path folder;

    @Option(
            names = {"-o", "--output"},
            paramLabel = "FILE",
            description = "The trace to write; open it in ui.perfetto.dev (default: trace.json).")
    private Path output = Path.of("trace.json");

    /** Creates the command, for picocli to fill. */
    public TraceCommand() {}

    @Override
    public Integer call() {
        PrintWriter out = spec.commandLine().getOut();
        if (!Files.isDirectory(folder)) {
            return failed(folder + " is no folder; name the one that JCCL_TRACE_DIR named");
        }
        try {
            List<Recording> recordings = read();
            if (recordings.isEmpty()) {
                return failed(
                        "no recording in "
                                + folder
                                + "; start the ranks with JCCL_TRACE_DIR and close their groups");
            }
            long origin =
                    recordings.stream()
                            .flatMap(recording -> recording.spans().stream())
                            .mapToLong(Recording.Span::startNanos)
                            .min()
                            .orElse(0);
            try (ChromeTrace trace = new ChromeTrace(output, origin)) {
                for (Recording recording : recordings) {
                    trace.add(recording);
                }
            }
            int spans = recordings.stream().mapToInt(each -> each.spans().size()).sum();
            long ranks = recordings.stream().map(Recording::rank).distinct().count();
            out.println(output + ": " + spans + " operations of " + ranks + " ranks");
            out.flush();
            return 0;
        } catch (IOException e) {
            return failed(e.toString());
        }
    }

    private List<Recording> read() throws IOException {
        List<Recording> recordings = new ArrayList<>();
        try (Stream<Path> files = Files.list(folder)) {
            for (Path file :
                    files.filter(each -> each.getFileName().toString().matches("rank\\d+\\..*json"))
                            .sorted()
                            .toList()) {
                try {
                    recordings.add(Recording.read(file));
                } catch (IOException e) {
                    throw new IOException(file + ": " + e.getMessage(), e);
                }
            }
        }
        recordings.sort(Comparator.comparing(Recording::rank).thenComparing(Recording::group));
        return recordings;
    }

    private int failed(String reason) {
        PrintWriter err = spec.commandLine().getErr();
        err.println("jccl trace: " + reason);
        err.flush();
        return 1;
    }
}
