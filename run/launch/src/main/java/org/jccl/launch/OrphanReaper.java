package org.jccl.launch;

import java.io.IOException;
import java.io.OutputStream;
import java.lang.System.Logger.Level;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/**
 * Kills the ranks if this process is killed and cannot stop them. A small shell reads from a pipe
 * of this process until this process reports success or ends. The shell finds the ranks and their
 * children by a variable in their environment, because the system may reuse process ids.
 *
 * <p>The parent-death signal of Linux would not work: it is sent when the <i>thread</i> that
 * started the process ends, and it does not reach the children of the ranks.
 */
final class OrphanReaper implements AutoCloseable {

    /** Distinguishes the processes of one launcher from all others. */
    private static final String VARIABLE = "JCCL_LAUNCHER";

    /** Searches several times, because a process may be starting another one. */
    private static final String SCRIPT =
            """
            trap '' HUP INT TERM
            read -r well && exit 0
            for again in 1 2 3 4 5; do
              for file in $(grep -lsxzF "$0" /proc/[0-9]*/environ); do
                pid=${file#/proc/}
                kill -KILL "${pid%/environ}"
              done
              sleep 0.2
            done
            """;

    private static final int KILL_SECONDS = 30;

    private final String id;
    private final Set<LaunchAttempt> attempts = ConcurrentHashMap.newKeySet();

    /** Null if it could not be started. */
    private final Process shell;

    private OrphanReaper(String id, Process shell) {
        this.id = id;
        this.shell = shell;
    }

    /** Starts the shell. If that is not possible, logs a warning and does nothing. */
    static OrphanReaper start() {
        String id = UUID.randomUUID().toString();
        ProcessBuilder builder = new ProcessBuilder("sh", "-c", SCRIPT, VARIABLE + "=" + id);
        builder.redirectOutput(ProcessBuilder.Redirect.DISCARD);
        builder.redirectError(ProcessBuilder.Redirect.DISCARD);
        try {
            return new OrphanReaper(id, builder.start());
        } catch (IOException e) {
            warn("ranks will outlive this launcher if it is killed: sh does not start", e);
            return new OrphanReaper(id, null);
        }
    }

    private static void warn(String text, IOException cause) {
        System.getLogger(ProcessLauncher.class.getName()).log(Level.WARNING, text, cause);
    }

    /** Marks a process that is about to be started. */
    void tag(ProcessBuilder rank) {
        rank.environment().put(VARIABLE, id);
    }

    /** Adds ranks that are running. */
    void begin(LaunchAttempt attempt) {
        attempts.add(attempt);
    }

    /** Removes ranks that have ended. */
    void end(LaunchAttempt attempt) {
        attempts.remove(attempt);
    }

    /** Sends a signal to all ranks that are running. */
    void signal(String name) {
        attempts.forEach(attempt -> attempt.signal(name));
    }

    /**
     * Kills all ranks by the shell, which needs no memory or thread of this process. Waits until it
     * is done, at most a few seconds.
     */
    void killRanks() {
        if (shell == null) {
            return;
        }
        try {
            shell.getOutputStream().close();
            shell.waitFor(KILL_SECONDS, TimeUnit.SECONDS);
        } catch (IOException e) {
            warn("the shell that kills the ranks of this launcher has already ended", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Ends the shell without killing processes, because this process has stopped the ranks. */
    @Override
    public void close() {
        if (shell == null) {
            return;
        }
        if (!shell.isAlive()) {
            return;
        }
        try (OutputStream input = shell.getOutputStream()) {
            input.write('\n');
        } catch (IOException e) {
            System.getLogger(ProcessLauncher.class.getName())
                    .log(Level.DEBUG, "the shell that watches this launcher has already ended", e);
        }
    }
}
