package org.jccl.launch;

import java.util.Optional;

/**
 * The state of the other nodes, for a launcher that waits for its own ranks. Each method throws a
 * {@link org.jccl.StoreException} if the launchers' store is lost.
 */
interface OtherNodes {

    /**
     * Asks without waiting.
     *
     * @return why the ranks of this node must be stopped, or empty
     */
    Optional<LaunchException> reasonToStop();

    /** Says that a rank has ended well, so that lost ranks need not be replaced any more. */
    default void rankHasEnded() {}

    /** Returns whether a rank of any node has ended well. */
    default boolean hasRankEnded() {
        return false;
    }
}
