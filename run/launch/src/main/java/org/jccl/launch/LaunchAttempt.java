package org.jccl.launch;

import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jccl.JcclException.Category;
import org.jccl.StoreException;
import org.jccl.spi.Deadline;
import org.jccl.spi.Durations;
import org.jccl.spi.LocalHost;

/** Starts the ranks of this node once, and waits for them or stops them. */
final class LaunchAttempt {

    private static final Logger LOGGER = System.getLogger(ProcessLauncher.class.getName());

    /** The interval at which the launcher asks the other nodes whether this one must stop. */
    private static final Duration POLL = Duration.ofMillis(500);

    private static final Duration SHORT_POLL = Duration.ofMillis(20);

    /** Words of the command that sends a signal, before the processes. */
    private static final int KILL_WORDS = 4;

    private static final int KILL_SECONDS = 10;

    /** The time for other ranks to end after a rank has reported that no restart helps. */
    static final Duration USAGE_GRACE = Duration.ofSeconds(2);

    private final LaunchSettings settings;
    private final LaunchRound round;
    private final OtherNodes others;
    private final OrphanReaper reaper;
    private final List<RankProcess> ranks = new ArrayList<>();
    private final BlockingQueue<RankProcess> ended = new LinkedBlockingQueue<>();

    /**
     * The ranks whose end is or was in the queue. A process disappears a moment before its end is
     * reported.
     */
    private final Set<RankProcess> reported = ConcurrentHashMap.newKeySet();

    private volatile boolean shuttingDown;
    private boolean stopped;
    private int replacements;

    LaunchAttempt(
            LaunchSettings settings, LaunchRound round, OtherNodes others, OrphanReaper reaper) {
        this.settings = settings;
        this.round = round;
        this.others = others;
        this.reaper = reaper;
    }

    /**
     * Runs the ranks. When this method returns, all of their processes have ended.
     *
     * @return why the attempt failed, or empty if every rank of this node exited with 0
     */
    Optional<LaunchException> run(Deadline limit) {
        // Without the hook, ending this JVM (Ctrl-C, SIGTERM) would leave the ranks running.
        Thread hook = new Thread(this::shutDown, "jccl-stop-ranks");
        Runtime.getRuntime().addShutdownHook(hook);
        reaper.begin(this);
        try {
            start();
            return await(limit);
        } catch (LaunchException couldNotStart) {
            return Optional.of(couldNotStart);
        } catch (StoreException gone) {
            return Optional.of(LaunchException.ofLostStore(settings, gone));
        } finally {
            stop();
            reaper.end(this);
            removeHook(hook);
        }
    }

    /** Sends a signal to the ranks that are alive, but not to their child processes. */
    synchronized void signal(String name) {
        List<String> command = new ArrayList<>(List.of("sh", "-c", "kill -s \"$0\" \"$@\"", name));
        ranks.stream()
                .filter(RankProcess::isAlive)
                .forEach(rank -> command.add(Long.toString(rank.handle().pid())));
        if (command.size() == KILL_WORDS) {
            return;
        }
        try {
            new ProcessBuilder(command)
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start()
                    .waitFor(KILL_SECONDS, TimeUnit.SECONDS);
        } catch (IOException e) {
            LOGGER.log(Level.WARNING, "SIG{0} was not passed to the ranks: {1}", name, e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void shutDown() {
        shuttingDown = true;
        stop();
        others.launcherEnds();
    }

    private static void removeHook(Thread hook) {
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException shuttingDown) {
            // The hook is already running.
        }
    }

    private synchronized void start() {
        for (RankPlacement placement :
                RankPlacement.of(settings.roles(), round.nodes(), round.nodeRank())) {
            start(placement, 0);
        }
    }

    /**
     * Starts a rank, unless the ranks are being stopped.
     *
     * @param replaced the number of its earlier starts in this attempt
     */
    private void start(RankPlacement placement, int replaced) {
        if (stopped) {
            return;
        }
        Optional<Path> logs = logs(placement.localRank(), replaced);
        try {
            RankProcess process =
                    new RankProcess(
                            placement,
                            replaced,
                            settings,
                            LaunchVariables.of(settings, round, placement, logs),
                            logs,
                            reaper);
            ranks.add(process);
            process.onExit()
                    .thenRun(
                            () -> {
                                ended.add(process);
                                reported.add(process);
                            });
        } catch (IOException e) {
            throw LaunchException.of(
                    "rank " + placement.rank() + " could not be started: " + e.getMessage(), e);
        }
    }

    /** Returns the folder of a rank's log files, as in torchrun. */
    private Optional<Path> logs(int localRank, int replaced) {
        String name = localRank + (replaced == 0 ? "" : "." + replaced);
        return settings.logs()
                .folder()
                .map(folder -> folder.resolve("attempt_" + round.attempt()).resolve(name));
    }

    /** Returns whether the job can be completed without the failed ranks. */
    private boolean othersContinue(int failed) {
        return switch (settings.lostRanks()) {
            case STOP_OTHERS -> false;
            case KEEP_OTHERS -> failed < ranks.size();
            case REPLACE -> others.hasRankEnded();
        };
    }

    /** Restarts a failed rank if that may help. */
    private synchronized boolean replace(RankProcess lost) {
        if (settings.lostRanks() != LostRanks.REPLACE
                || wouldFailAgain(lost)
                || replacements == settings.maxRestarts()
                || stopped
                || others.hasRankEnded()) {
            return false;
        }
        replacements++;
        lost.drainOutput();
        LOGGER.log(
                Level.WARNING,
                "{0}; starting it again, {1} of {2}",
                lost.failure(LocalHost.name()).summary(),
                replacements,
                settings.maxRestarts());
        ranks.remove(lost);
        start(lost.placement(), lost.replaced() + 1);
        return true;
    }

    private Optional<LaunchException> await(Deadline limit) {
        int running = ranks.size();
        List<RankProcess> failed = new ArrayList<>();
        try {
            while (running > 0) {
                // A rank may have ended without a report so far, even at the deadline.
                boolean over = limit.hasPassed() && ranks.stream().anyMatch(RankProcess::isAlive);
                Duration pause = limit.hasPassed() && !over ? POLL : limit.atMost(POLL);
                RankProcess process = ended.poll(pause.toNanos(), TimeUnit.NANOSECONDS);
                if (process != null && process.exitCode() != 0) {
                    if (replace(process)) {
                        continue;
                    }
                    failed.add(process);
                    if (!othersContinue(failed.size()) || shuttingDown) {
                        return Optional.of(ranksFailed(failed));
                    }
                    process.drainOutput();
                    LOGGER.log(
                            Level.WARNING,
                            "{0}; the others continue",
                            process.failure(LocalHost.name()).summary());
                    running--;
                } else if (process != null) {
                    process.drainOutput();
                    running--;
                    if (settings.lostRanks() == LostRanks.REPLACE) {
                        others.rankHasEnded();
                    }
                } else if (over) {
                    return Optional.of(timedOut());
                } else {
                    Optional<LaunchException> elsewhere = others.reasonToStop();
                    if (elsewhere.isPresent()) {
                        return elsewhere;
                    }
                }
            }
            return Optional.empty();
        } catch (InterruptedException e) {
            // The stop must wait, so the interrupt flag is set again after it.
            stop();
            Thread.currentThread().interrupt();
            return Optional.of(
                    LaunchException.of(
                            "the thread that ran the job was interrupted; its ranks are stopped",
                            e));
        }
    }

    private LaunchException ranksFailed(List<RankProcess> failed) throws InterruptedException {
        awaitFailureOfProgram(failed);
        // Ranks that failed before the stop below are reported together with the first one.
        ended.stream().filter(process -> process.exitCode() != 0).forEach(failed::add);
        stop();
        failed.forEach(RankProcess::drainOutput);
        if (shuttingDown) {
            return LaunchException.of(
                    "the launcher received a request to stop; the ranks are stopped",
                    (Throwable) null);
        }
        String host = LocalHost.name();
        List<RankFailure> failures = failed.stream().map(rank -> rank.failure(host)).toList();
        StringBuilder text = new StringBuilder(failures.get(0).toString());
        failures.stream().skip(1).forEach(other -> text.append("\nthen ").append(other.summary()));
        int others = ranks.size() - failures.size();
        if (others > 0) {
            text.append("\nthe other ranks of this node were stopped");
        }
        return LaunchException.of(text.toString(), failures);
    }

    /**
     * Waits a moment for other ranks if all failed ranks report that no restart helps. They may
     * only have noticed that another rank closed its groups because its program is failing.
     */
    private void awaitFailureOfProgram(List<RankProcess> failed) throws InterruptedException {
        Deadline limit = Deadline.after(USAGE_GRACE);
        while (!shuttingDown
                && !limit.hasPassed()
                && failed.stream().allMatch(LaunchAttempt::wouldFailAgain)
                && !reported.containsAll(ranks)) {
            RankProcess process =
                    ended.poll(limit.atMost(SHORT_POLL).toNanos(), TimeUnit.NANOSECONDS);
            if (process != null && process.exitCode() != 0) {
                failed.add(process);
            }
        }
    }

    private static boolean wouldFailAgain(RankProcess process) {
        return process.exitCode() == Category.USAGE.exitCode();
    }

    private LaunchException timedOut() {
        List<Integer> running =
                ranks.stream().filter(RankProcess::isAlive).map(RankProcess::rank).toList();
        return LaunchException.timedOut(
                "ranks "
                        + running
                        + " were still running after "
                        + Durations.text(settings.timeout().orElseThrow())
                        + " and were stopped: look for a rank that waits for another, or give the"
                        + " job more time");
    }

    /** Stops the ranks that are alive. Makes the shutdown hook wait meanwhile. */
    private synchronized void stop() {
        if (!stopped) {
            stopped = true;
            List<ProcessHandle> alive =
                    ranks.stream().filter(RankProcess::isAlive).map(RankProcess::handle).toList();
            ProcessTree.stop(alive, settings.grace());
            ranks.forEach(RankProcess::drainOutput);
        }
    }
}
