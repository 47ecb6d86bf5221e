package org.jccl.launch;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jccl.internal.checks.Require;

/**
 * The failure of a rank's process.
 *
 * @param rank rank in the world
 * @param host name of the host on which it ran
 * @param pid its process id
 * @param exitCode its exit code; 128 + n if signal n ended it
 * @param lastLines the last lines of its standard error, or of its standard output if it wrote no
 *     error
 * @param crashReport the {@code hs_err} file of a crashed JVM, if it printed one
 */
public record RankFailure(
        int rank,
        String host,
        long pid,
        int exitCode,
        List<String> lastLines,
        Optional<Path> crashReport) {

    /** An exit code above this value stands for the number of a signal. */
    private static final int SIGNAL_BASE = 128;

    private static final Map<Integer, String> SIGNALS =
            Map.ofEntries(
                    Map.entry(1, "SIGHUP"),
                    Map.entry(2, "SIGINT"),
                    Map.entry(3, "SIGQUIT"),
                    Map.entry(4, "SIGILL"),
                    Map.entry(5, "SIGTRAP"),
                    Map.entry(6, "SIGABRT"),
                    Map.entry(7, "SIGBUS"),
                    Map.entry(8, "SIGFPE"),
                    Map.entry(9, "SIGKILL"),
                    Map.entry(10, "SIGUSR1"),
                    Map.entry(11, "SIGSEGV"),
                    Map.entry(12, "SIGUSR2"),
                    Map.entry(13, "SIGPIPE"),
                    Map.entry(14, "SIGALRM"),
                    Map.entry(15, "SIGTERM"));

    /**
     * Checks that no argument is null, and copies the list.
     *
     * @param rank rank in the world
     * @param host name of the host
     * @param pid process id
     * @param exitCode exit code
     * @param lastLines the last lines it printed
     * @param crashReport the {@code hs_err} file
     * @throws org.jccl.UsageException if an argument is null
     */
    public RankFailure {
        Require.nonNull(host, "host");
        Require.nonNull(lastLines, "lines").forEach(line -> Require.nonNull(line, "line"));
        Require.nonNull(crashReport, "crash report");
        lastLines = List.copyOf(lastLines);
    }

    /**
     * Returns the signal that ended the process.
     *
     * @return for instance {@code SIGKILL}; empty if the exit code does not stand for a signal
     */
    public Optional<String> signal() {
        return Optional.ofNullable(SIGNALS.get(exitCode - SIGNAL_BASE));
    }

    /**
     * Returns the failure in one line.
     *
     * @return rank, host, process id, and exit code or signal
     */
    public String summary() {
        String end =
                signal().map(
                                name ->
                                        "ended with exit code "
                                                + exitCode
                                                + ", as if killed by "
                                                + name)
                        .orElse("exited with code " + exitCode);
        return "rank " + rank + " on " + host + " (process " + pid + ") " + end;
    }

    /**
     * Returns all details of the failure, in several lines. The frames of stack traces are left
     * out: the rank has printed them.
     */
    @Override
    public String toString() {
        StringBuilder text = new StringBuilder(summary());
        crashReport.ifPresent(path -> text.append("\n  its JVM crashed, see ").append(path));
        if (signal().filter("SIGKILL"::equals).isPresent()) {
            text.append(
                    "\n  the process exited with this code itself, or was killed by a user or by"
                            + " the kernel's out-of-memory killer (see dmesg)");
        }
        List<String> shown = lastLines.stream().filter(line -> !isFrame(line)).toList();
        if (!shown.stream().allMatch(String::isBlank)) {
            text.append("\n  its last lines:");
            shown.forEach(line -> text.append("\n  | ").append(line));
        }
        return text.toString();
    }

    private static boolean isFrame(String line) {
        return line.startsWith("\tat ") || line.startsWith("\t... ");
    }
}
