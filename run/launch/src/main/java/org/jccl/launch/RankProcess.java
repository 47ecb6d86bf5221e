package org.jccl.launch;

import java.io.File;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;

/** The process of one rank, and the readers of its output. */
final class RankProcess {

    private final RankPlacement placement;
    private final int rank;
    private final int replaced;
    private final LaunchSettings settings;
    private final Process process;
    private final LastLines lastOutput = new LastLines();
    private final LastLines lastErrors = new LastLines();
    private final List<RankOutput> outputs;
    private volatile OptionalLong ended = OptionalLong.empty();

    /**
     * Starts the process.
     *
     * @param placement the rank and its role
     * @param replaced the number of earlier processes of this rank
     * @param environment the variables of the rank
     * @param logs folder for its output, if there are log files
     * @param reaper kills the process when this one is killed
     * @throws IOException if the command cannot be started or the logs cannot be written
     */
    RankProcess(
            RankPlacement placement,
            int replaced,
            LaunchSettings settings,
            Map<String, String> environment,
            Optional<Path> logs,
            OrphanReaper reaper)
            throws IOException {
        this.placement = placement;
        this.rank = placement.rank();
        this.replaced = replaced;
        this.settings = settings;
        ProcessBuilder builder = new ProcessBuilder(placement.role().command());
        builder.environment().putAll(settings.environment());
        builder.environment().putAll(environment);
        reaper.tag(builder);
        // A rank that reads from a terminal in the background would stop the job.
        builder.redirectInput(
                settings.input() && rank == 0
                        ? ProcessBuilder.Redirect.INHERIT
                        : ProcessBuilder.Redirect.from(new File("/dev/null")));
        settings.directory().map(Path::toFile).ifPresent(builder::directory);
        this.outputs = List.of(output(false, logs), output(true, logs));
        try {
            this.process = builder.start();
        } catch (IOException e) {
            for (RankOutput output : outputs) {
                output.close();
            }
            throw e;
        }
        process.onExit().thenRun(() -> ended = OptionalLong.of(System.nanoTime()));
        try {
            outputs.get(0).follow(process.getInputStream());
            outputs.get(1).follow(process.getErrorStream());
        } catch (OutOfMemoryError e) {
            // No thread reads the output, and no other code knows the process.
            ProcessTree.stop(List.of(process.toHandle()), settings.grace());
            throw e;
        }
    }

    private RankOutput output(boolean error, Optional<Path> logs) throws IOException {
        if (logs.isPresent()) {
            // The folder is needed even without log files, because a crashing JVM writes its report
            // there.
            Files.createDirectories(logs.get());
        }
        boolean wanted = settings.logs().keeps(placement.localRank(), error);
        String file = error ? "stderr.log" : "stdout.log";
        return new RankOutput(
                "rank " + rank + (error ? " stderr" : " stdout"),
                logs.filter(folder -> wanted).map(folder -> folder.resolve(file)),
                line -> take(error, line));
    }

    private void take(boolean error, byte[] line) {
        (error ? lastErrors : lastOutput).add(new String(line, StandardCharsets.UTF_8));
        if (!settings.logs().shows(placement.localRank(), error)) {
            return;
        }
        try {
            settings.output().bytes(rank, error, line);
        } catch (RuntimeException | Error e) {
            // A failing handler must not end the reading: a rank whose output is not read would
            // block.
            System.getLogger(ProcessLauncher.class.getName())
                    .log(Level.WARNING, "the output handler failed on a line of rank " + rank, e);
        }
    }

    RankPlacement placement() {
        return placement;
    }

    int rank() {
        return rank;
    }

    int replaced() {
        return replaced;
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

    /** Returns the exit code of the process, which must have ended. */
    int exitCode() {
        return process.exitValue();
    }

    /**
     * Waits at most 10 s until all output of the ended process has reached the file and the
     * handler.
     */
    void drainOutput() {
        try {
            for (RankOutput output : outputs) {
                output.drain(ended.orElseGet(System::nanoTime));
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Returns the failure of the process, which must have ended. */
    RankFailure failure(String host) {
        List<String> errors = lastErrors.all();
        List<String> lines = errors.isEmpty() ? lastOutput.all() : errors;
        Optional<Path> report = lastOutput.crashReport().or(lastErrors::crashReport);
        return new RankFailure(rank, host, process.pid(), exitCode(), lines, report);
    }
}
