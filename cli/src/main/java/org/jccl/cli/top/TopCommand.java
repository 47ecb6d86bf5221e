package org.jccl.cli.top;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import org.jccl.cli.files.Unreadable;
import picocli.CommandLine.Command;
import picocli.CommandLine.ExecutionException;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Shows where the ranks of a running job are. */
@Command(
        name = "top",
        description = "Show where the ranks of a running job are, and which ranks wait for others.",
        mixinStandardHelpOptions = true,
        showDefaultValues = true,
        sortOptions = false,
        footer = {
            "",
            "Ranks that are started with JCCL_MONITOR_DIR=DIR write their state there once a"
                    + " second. If ranks run on several hosts, share the folder, or run jccl top"
                    + " on each host.",
            "",
            "  JCCL_MONITOR_DIR=/tmp/job jccl run -n 4 app.jar",
            "  jccl top /tmp/job",
            "",
            "BEHIND is the number of collectives by which a rank is behind the first rank of its"
                    + " group; FOR is how long its operation has been running. A rank that stops"
                    + " writing is frozen, stopped (by a signal) or dead; it has no BEHIND,"
                    + " because it may be further than it last wrote.",
            "",
            "Ends with the job. The exit code is 0 if every rank closed its world, 1 if a rank"
                    + " died."
        })
public final class TopCommand implements Callable<Integer> {

    @Spec private CommandSpec spec;

    @Parameters(
            arity = "0..1",
            paramLabel = "DIR",
            defaultValue = "${env:JCCL_MONITOR_DIR}",
            description = "The folder that JCCL_MONITOR_DIR names for the ranks.")
    private Path folder;

    @Option(
            names = "--once",
            description = "Print one table and end: with 0, or with 1 when something is wrong.")
    private boolean once;

    @Option(
            names = {"-d", "--delay"},
            paramLabel = "SECONDS",
            defaultValue = "1",
            description = "Time between two updates.")
    private double delay;

    /** Creates the command, for picocli to fill. */
    public TopCommand() {}

    @Override
    public Integer call() throws InterruptedException {
        if (folder == null) {
            throw new ParameterException(
                    spec.commandLine(),
                    "name the folder that JCCL_MONITOR_DIR names for the ranks");
        }
        if (!(delay >= 0.1 && delay <= 3600)) {
            throw new ParameterException(
                    spec.commandLine(), "--delay must be from 0.1 to 3600 seconds, got " + delay);
        }
        PrintWriter out = spec.commandLine().getOut();
        try (Screen screen = once ? Screen.plain(out) : Screen.ofThisProcess(out)) {
            return watch(screen);
        } catch (IOException e) {
            throw new ExecutionException(spec.commandLine(), folder + ": " + e.getMessage());
        }
    }

    private int watch(Screen screen) throws IOException, InterruptedException {
        boolean reported = false;
        while (true) {
            List<Unreadable> unreadable = new ArrayList<>();
            List<RankFile> files = read(unreadable);
            if (files.isEmpty() && !unreadable.isEmpty()) {
                throw new IOException(unreadable.get(0).toString());
            }
            JobView view = new JobView(files, unreadable, System.currentTimeMillis());
            if (view.rows().isEmpty()) {
                if (once) {
                    throw new IOException(
                            "no rank has written here; start them with JCCL_MONITOR_DIR=" + folder);
                }
                if (!reported) {
                    PrintWriter err = spec.commandLine().getErr();
                    err.println("jccl top: no rank has written to " + folder + " yet; waiting");
                    err.flush();
                    reported = true;
                }
            }
            boolean read = view.rows().isEmpty() || screen.show(view);
            if (once || !read) {
                return view.findings().isEmpty() ? 0 : 1;
            }
            if (view.isOver()) {
                return view.endedWell() ? 0 : 1;
            }
            Thread.sleep(pauseMillis());
        }
    }

    /** Ranks write on whole seconds, so between those they are all seen at the same moment. */
    private long pauseMillis() {
        long pause = (long) (delay * 1000);
        return pause < 1000 ? pause : pause + 500 - (System.currentTimeMillis() + pause) % 1000;
    }

    private List<RankFile> read(List<Unreadable> unreadable) throws IOException {
        if (!Files.isDirectory(folder)) {
            return List.of();
        }
        List<Path> files;
        try (Stream<Path> all = Files.list(folder)) {
            files = all.filter(file -> name(file).matches("rank\\d+\\.json")).sorted().toList();
        }
        List<RankFile> ranks = new ArrayList<>();
        for (Path file : files) {
            try {
                ranks.add(RankFile.read(file));
            } catch (NoSuchFileException | java.io.FileNotFoundException e) {
                // Another process deletes files here.
                continue;
            } catch (IOException e) {
                unreadable.add(Unreadable.of(file, e));
            }
        }
        return ranks;
    }

    private static String name(Path file) {
        return file.getFileName().toString();
    }
}
