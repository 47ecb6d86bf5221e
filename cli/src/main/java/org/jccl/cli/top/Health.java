package org.jccl.cli.top;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Optional;
import org.jccl.spi.LocalHost;

/** The state of a rank, from its file and, on the same host, from its process. */
enum Health {
    /** It writes its file. */
    ALIVE("ok"),
    /** It has closed its world. */
    ENDED("ended"),
    /** It has closed its world, and a group of it had failed. */
    FAILED("failed"),
    /** Its process exists and does not write: it was stopped by a signal. */
    STOPPED("stopped"),
    /** It does not write, and its process exists or is on another host. */
    FROZEN("frozen"),
    /** Its process has ended, and it has not closed its world. */
    DEAD("dead"),
    /** It has not written anything yet. */
    MISSING("missing");

    private static final int MISSED_WRITES = 3;

    private final String text;

    Health(String text) {
        this.text = text;
    }

    /** Whether other ranks would wait for it without end. */
    boolean isGone() {
        return this == STOPPED || this == FROZEN || this == DEAD;
    }

    @Override
    public String toString() {
        return text;
    }

    /**
     * Finds the state of a rank.
     *
     * @param rank its last file
     * @param nowMillis since 1970
     */
    static Health of(RankFile rank, long nowMillis) {
        if (rank.ended()) {
            return rank.failure().isEmpty() ? ENDED : FAILED;
        }
        if (nowMillis - rank.writtenMillis() < MISSED_WRITES * rank.intervalMillis()) {
            return ALIVE;
        }
        if (!rank.host().equals(LocalHost.name())) {
            return FROZEN;
        }
        Optional<ProcessHandle> process = ProcessHandle.of(rank.pid()).filter(own -> is(own, rank));
        if (process.isEmpty()) {
            return DEAD;
        }
        return isStopped(rank.pid()) ? STOPPED : FROZEN;
    }

    /** Compares start times too, because the system reuses process ids. */
    private static boolean is(ProcessHandle process, RankFile rank) {
        Optional<Instant> started = process.info().startInstant();
        return process.isAlive()
                && (started.isEmpty()
                        || rank.processStartedMillis() == 0
                        || started.get().toEpochMilli() == rank.processStartedMillis());
    }

    private static boolean isStopped(long pid) {
        try {
            String stat =
                    Files.readString(
                            Path.of("/proc/" + pid + "/stat"), StandardCharsets.ISO_8859_1);
            // The state follows the command, which may itself have parentheses and blanks.
            String state = stat.substring(stat.lastIndexOf(')') + 2);
            return state.startsWith("T") || state.startsWith("t");
        } catch (IOException | IndexOutOfBoundsException e) {
            return false;
        }
    }
}
