package org.jccl.bootstrap;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.System.Logger.Level;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jccl.UsageException;
import org.jccl.spi.PathSetting;

/** One rank's process: started, its output followed line by line. */
final class RankProcess {

    private static final int LAST_LINES = 20;

    private static final Duration OUTPUT_DRAIN = Duration.ofSeconds(5);

    /** What a crashing JVM prints, on standard output, about its report. */
    private static final Pattern CRASH_REPORT = Pattern.compile("#\\s+(\\S.*hs_err.*\\.log)\\s*");

    private final int rank;
    private final LaunchSettings settings;
    private final Process process;
    private final Deque<String> lastOutput = new ArrayDeque<>();
    private final Deque<String> lastErrors = new ArrayDeque<>();
    private final List<Thread> readers;
    private volatile Optional<Path> crashReport = Optional.empty();

    /**
     * Starts the process.
     *
     * @param place which rank it is, and what it runs
     * @param environment the variables that tell it who it is
     * @param logs folder for its output, if it is kept
     * @param reaper kills the process when this one is killed
     * @throws IOException when the command can not be started or the logs not be written
     */
    RankProcess(
            LaunchPlace place,
            LaunchSettings settings,
            Map<String, String> environment,
            Optional<Path> logs,
            OrphanReaper reaper)
            throws IOException {
        this.rank = place.rank();
        this.settings = settings;
        ProcessBuilder builder = new ProcessBuilder(place.role().command());
        builder.environment().putAll(settings.environment());
        builder.environment().putAll(environment);
        reaper.mark(builder);
        // Ranks share no input, and one that read from a terminal would stop the job.
        builder.redirectInput(ProcessBuilder.Redirect.from(new File("/dev/null")));
        settings.directory().map(Path::toFile).ifPresent(builder::directory);
        PrintStream outputLog = log(false, logs);
        PrintStream errorLog = log(true, logs);
        try {
            this.process = builder.start();
        } catch (IOException e) {
            outputLog.close();
            errorLog.close();
            throw e;
        }
        try {
            this.readers =
                    List.of(
                            follow(process.getInputStream(), false, lastOutput, outputLog),
                            follow(process.getErrorStream(), true, lastErrors, errorLog));
        } catch (OutOfMemoryError e) {
            // No thread is left for them, and nobody would know of the process.
            ProcessTree.stop(List.of(process.toHandle()), settings.grace());
            throw e;
        }
    }

    private PrintStream log(boolean error, Optional<Path> logs) throws IOException {
        if (logs.isPresent()) {
            // Also without log files, since a crashing JVM's report goes nearby.
            Files.createDirectories(logs.get());
        }
        boolean wanted = settings.redirects().include(error) || settings.tee().include(error);
        if (logs.isEmpty() || !wanted) {
            return new PrintStream(OutputStream.nullOutputStream(), false);
        }
        Path file = logs.get().resolve(error ? "stderr.log" : "stdout.log");
        return new PrintStream(Files.newOutputStream(file), true, StandardCharsets.UTF_8);
    }

    private Thread follow(InputStream stream, boolean error, Deque<String> last, PrintStream log) {
        String name = "jccl-rank-" + rank + (error ? "-stderr" : "-stdout");
        Thread reader = new Thread(() -> read(stream, error, last, log), name);
        reader.setDaemon(true);
        reader.start();
        return reader;
    }

    private void read(InputStream stream, boolean error, Deque<String> last, PrintStream log) {
        try (BufferedReader lines =
                        new BufferedReader(new InputStreamReader(stream, StandardCharsets.UTF_8));
                log) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                remember(line, last);
                log.println(line);
                if (!settings.redirects().include(error)) {
                    show(error, line);
                }
            }
        } catch (IOException e) {
            remember("(the output of rank " + rank + " was cut off: " + e.getMessage() + ")", last);
        }
    }

    private void show(boolean error, String line) {
        try {
            settings.output().line(rank, error, line);
        } catch (RuntimeException | Error e) {
            // A rank whose output nobody reads would block, so a bad handler must not end this.
            System.getLogger(ProcessLauncher.class.getName())
                    .log(Level.WARNING, "the output handler failed on a line of rank " + rank, e);
        }
    }

    private void remember(String line, Deque<String> last) {
        Matcher report = CRASH_REPORT.matcher(line);
        if (report.matches()) {
            crashReport = path(report.group(1));
        }
        synchronized (last) {
            if (last.size() == LAST_LINES) {
                last.removeFirst();
            }
            last.addLast(line);
        }
    }

    /** Whatever a rank prints, an exception here would end the reading of its output. */
    private static Optional<Path> path(String printed) {
        try {
            return Optional.of(PathSetting.of("the crash report", printed));
        } catch (UsageException e) {
            return Optional.empty();
        }
    }

    int rank() {
        return rank;
    }

    ProcessHandle handle() {
        return process.toHandle();
    }

    boolean isAlive() {
        return process.isAlive();
    }

    CompletableFuture<Process> onExit() {
        return process.onExit();
    }

    /** Exit code of the process, which must have ended. */
    int exitCode() {
        return process.exitValue();
    }

    /** Waits until all that the ended process printed has been handed on. */
    void drainOutput() {
        try {
            for (Thread reader : readers) {
                reader.join(OUTPUT_DRAIN.toMillis());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** How the process, which must have ended, ended. */
    RankFailure failure(String host) {
        List<String> errors = copy(lastErrors);
        List<String> lines = errors.isEmpty() ? copy(lastOutput) : errors;
        return new RankFailure(rank, host, process.pid(), exitCode(), lines, crashReport);
    }

    private static List<String> copy(Deque<String> lines) {
        synchronized (lines) {
            return List.copyOf(lines);
        }
    }
}
