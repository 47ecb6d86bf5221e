package org.jccl.cli.top;

import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Optional;

/** How a rank is, as far as its file and, on the same host, its process tell. */
enum Health {
    /** It writes its file. */
    ALIVE("ok"),
    /** It has closed its world. */
    ENDED("ended"),
    /** It is there and does not write: stopped by a signal. */
    STOPPED("stopped"),
    /** It does not write, and its process is there, or on another host. */
    FROZEN("frozen"),
    /** Its process is gone, and it has not closed its world. */
    DEAD("dead"),
    /** It has not written anything yet. */
    MISSING("missing");

    private static final int MISSED_WRITES = 3;

    private final String text;

    Health(String text) {
        this.text = text;
    }

    /** Whether others wait for it in vain. */
    boolean isGone() {
        return this == STOPPED || this == FROZEN || this == DEAD;
    }

    @Override
    public String toString() {
        return text;
    }

    /**
     * Looks at a rank.
     *
     * @param rank what it said last
     * @param nowMillis since 1970
     */
    static Health of(RankFile rank, long nowMillis) {
        if (rank.ended()) {
            return ENDED;
        }
        if (nowMillis - rank.writtenMillis() < MISSED_WRITES * rank.intervalMillis()) {
            return ALIVE;
        }
        if (!rank.host().equals(hostName())) {
            return FROZEN;
        }
        Optional<ProcessHandle> process = ProcessHandle.of(rank.pid()).filter(own -> is(own, rank));
        if (process.isEmpty()) {
            return DEAD;
        }
        return isStopped(rank.pid()) ? STOPPED : FROZEN;
    }

    /** Numbers of processes are used again. */
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

    private static String hostName() {
        try {
            return InetAddress.getLocalHost().getHostName();
        } catch (UnknownHostException e) {
            return "unknown";
        }
    }
}
