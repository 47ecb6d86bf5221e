package org.jccl.launch;

import java.util.List;
import java.util.Optional;
import org.jccl.FailureContext;
import org.jccl.JcclException;
import org.jccl.StoreException;

/** A job of {@link ProcessLauncher} failed. All of its processes are stopped. */
public final class LaunchException extends JcclException {

    /** The exit code of timeout(1). */
    private static final int TIMED_OUT = 124;

    /** The exit code if the reason is not a rank's exit code. */
    private static final int OTHER = 1;

    private static final long serialVersionUID = 1L;

    private final transient List<RankFailure> failures;

    /** The exit code for a command line. */
    private final int exitCode;

    private LaunchException(
            String message, List<RankFailure> failures, int exitCode, Throwable cause) {
        super(Category.FATAL_GROUP, FailureContext.NONE, message, cause);
        this.failures = List.copyOf(failures);
        this.exitCode = exitCode;
    }

    /** Creates the exception for failed ranks of this node. */
    static LaunchException of(String message, List<RankFailure> failures) {
        return new LaunchException(message, failures, failures.get(0).exitCode(), null);
    }

    /** Creates the exception for a failure other than a rank's. */
    static LaunchException of(String message, Throwable cause) {
        return new LaunchException(message, List.of(), OTHER, cause);
    }

    /** Creates the exception for a store of the launchers that no longer answers. */
    static LaunchException ofLostStore(LaunchSettings settings, StoreException why) {
        String gone =
                settings.service().isPresent()
                        ? "the store of the job is gone: "
                        : "the launcher of node 0 is gone: ";
        return of(gone + why.getMessage(), why);
    }

    /** Creates the exception for a process or thread that the system did not permit. */
    static LaunchException ofLimit(OutOfMemoryError why) {
        return of(
                "the launcher got no memory or thread, and has killed its ranks: "
                        + why.getMessage()
                        + ". Raise the limit of processes (ulimit -u, the pids of the container) or"
                        + " of memory, or start fewer ranks on this host",
                why);
    }

    static LaunchException onAnotherNode(String why) {
        return of("stopped because another node failed: " + why, (Throwable) null);
    }

    static LaunchException timedOut(String message) {
        return new LaunchException(message, List.of(), TIMED_OUT, null);
    }

    /**
     * Returns the ranks of this node that failed, in order, without those that were stopped because
     * of the failure.
     *
     * @return the failures; empty if a timeout, an interruption or another node was the reason
     */
    public List<RankFailure> failures() {
        return failures == null ? List.of() : failures;
    }

    /** Returns the failure of the launchers' store, if that is the reason. */
    Optional<StoreException> lostStore() {
        return getCause() instanceof StoreException e ? Optional.of(e) : Optional.empty();
    }

    /**
     * Returns whether ranks failed and a restart may help. It does not help if a rank reports wrong
     * use, unless the program of another rank failed. That rank closed its groups normally, so the
     * first rank concluded that it has fewer operations.
     */
    boolean mayPass() {
        return failures().stream().anyMatch(f -> isOfProgram(f.exitCode()))
                || !failures().isEmpty()
                        && failures().stream()
                                .noneMatch(f -> f.exitCode() == Category.USAGE.exitCode());
    }

    /** Returns whether an exit code means neither wrong use nor the failure of a group. */
    static boolean isOfProgram(int code) {
        return code != Category.USAGE.exitCode() && code != Category.FATAL_GROUP.exitCode();
    }

    /**
     * Returns the exit code for a command line.
     *
     * @return the exit code of the first rank that failed, 124 after a timeout, otherwise 1
     */
    @Override
    public int exitCode() {
        return exitCode;
    }
}
