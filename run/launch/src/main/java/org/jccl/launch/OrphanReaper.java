package org.jccl.launch;

import java.io.IOException;
import java.io.OutputStream;
import java.lang.System.Logger.Level;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Kills the ranks if this process is killed and cannot stop them itself. A small shell waits for
 * the end of its input, which only this process can cause: by reporting success, or by ending. It
 * finds the ranks and their children by a variable in their environment, because the system may
 * reuse process ids.
 *
 * <p>The signal that Linux sends when a parent dies would not work: it comes when the <i>thread</i>
 * that started the process ends, and does not reach the children of the ranks.
 */
final class OrphanReaper implements AutoCloseable {

    /** Tells the processes of one launcher from all others. */
    private static final String VARIABLE = "JCCL_LAUNCHER";

    /** Looks several times, since a process may have been in the middle of starting another. */
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

    private final String id;
    private final Set<LaunchAttempt> attempts = ConcurrentHashMap.newKeySet();

    /** Null where it could not be started. */
    private final Process shell;

    private OrphanReaper(String id, Process shell) {
        this.id = id;
        this.shell = shell;
    }

    /** Starts to watch over this process; where that is not possible, says so and does nothing. */
    static OrphanReaper start() {
        String id = UUID.randomUUID().toString();
        ProcessBuilder builder = new ProcessBuilder("sh", "-c", SCRIPT, VARIABLE + "=" + id);
        builder.redirectOutput(ProcessBuilder.Redirect.DISCARD);
        builder.redirectError(ProcessBuilder.Redirect.DISCARD);
        try {
            return new OrphanReaper(id, builder.start());
        } catch (IOException e) {
            System.getLogger(ProcessLauncher.class.getName())
                    .log(
                            Level.WARNING,
                            "ranks will outlive this launcher if it is killed: sh does not start",
                            e);
            return new OrphanReaper(id, null);
        }
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

    /** Lets go of what is left; this process has stopped the ranks itself. */
    @Override
    public void close() {
        if (shell == null) {
            return;
        }
        try (OutputStream input = shell.getOutputStream()) {
            input.write('\n');
        } catch (IOException e) {
            System.getLogger(ProcessLauncher.class.getName())
                    .log(Level.DEBUG, "the shell that watches this launcher has ended before", e);
        }
    }
}
