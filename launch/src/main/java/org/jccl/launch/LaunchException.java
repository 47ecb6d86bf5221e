package org.jccl.launch;

import java.util.List;
import org.jccl.FailureContext;
import org.jccl.JcclException;

/**
 * A job that {@link ProcessLauncher} started did not end well; all of its processes are stopped.
 */
public final class LaunchException extends JcclException {

    /** What timeout(1) returns. */
    private static final int TIMED_OUT = 124;

    /** When no rank's exit code is the reason. */
    private static final int OTHER = 1;

    private static final long serialVersionUID = 1L;

    private final transient List<RankFailure> failures;

    /** What a command line should return. */
    private final int exitCode;

    private LaunchException(
            String message, List<RankFailure> failures, int exitCode, Throwable cause) {
        super(Category.FATAL_GROUP, FailureContext.NONE, message, cause);
        this.failures = List.copyOf(failures);
        this.exitCode = exitCode;
    }

    /** Ranks of this node failed by themselves. */
    static LaunchException of(String message, List<RankFailure> failures) {
        return new LaunchException(message, failures, failures.get(0).exitCode(), null);
    }

    /** The job failed, for what this node's ranks may know nothing of. */
    static LaunchException ofJob(String message, int exitCode) {
        return new LaunchException(message, List.of(), exitCode, null);
    }

    /** Something else than a rank failed. */
    static LaunchException of(String message, Throwable cause) {
        return new LaunchException(message, List.of(), OTHER, cause);
    }

    static LaunchException onAnotherNode(String why) {
        return of("stopped because another node failed: " + why, (Throwable) null);
    }

    static LaunchException timedOut(String message) {
        return new LaunchException(message, List.of(), TIMED_OUT, null);
    }

    /**
     * The ranks of this node that failed by themselves, the first one first. Those that were
     * stopped because of it are not here.
     *
     * @return the failures; empty when a timeout, an interruption or another node was the reason
     */
    public List<RankFailure> failures() {
        return failures == null ? List.of() : failures;
    }

    /**
     * Whether ranks failed, and another start may help. It does not if one says that it would fail
     * again, unless the program of another one failed: its groups were then closed in order, and
     * the first takes that for a rank with less to do.
     */
    boolean mayPass() {
        return failures().stream().anyMatch(f -> isOfProgram(f.exitCode()))
                || !failures().isEmpty()
                        && failures().stream()
                                .noneMatch(f -> f.exitCode() == Category.USAGE.exitCode());
    }

    /** Whether a rank with this code ended neither of wrong use nor of its group's failure. */
    static boolean isOfProgram(int code) {
        return code != Category.USAGE.exitCode() && code != Category.FATAL_GROUP.exitCode();
    }

    /**
     * What a command line should return.
     *
     * @return the exit code of the first rank that failed, 124 after a timeout, otherwise 1
     */
    @Override
    public int exitCode() {
        return exitCode;
    }
}
