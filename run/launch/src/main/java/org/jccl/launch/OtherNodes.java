package org.jccl.launch;

import java.util.Optional;

/**
 * The state of the other nodes, for a launcher that waits for its own ranks. Each method throws a
 * {@link org.jccl.StoreException} if the launchers' store is lost.
 */
interface OtherNodes {

    /**
     * Returns the reason to stop this node's ranks. Does not wait.
     *
     * @return why the ranks of this node must be stopped, or empty
     */
    Optional<LaunchException> reasonToStop();

    /** Reports that this launcher ends before its job does. Returns soon. */
    default void launcherEnds() {}

    /** Reports that a rank has exited with 0, so that lost ranks need no replacement. */
    default void rankHasEnded() {}

    /** Returns whether a rank of any node has exited with 0. */
    default boolean hasRankEnded() {
        return false;
    }
}
