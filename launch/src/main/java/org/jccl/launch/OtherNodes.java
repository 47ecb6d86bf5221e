package org.jccl.launch;

import java.util.Optional;

/** What a launcher that waits for its own ranks wants to know of the others. */
interface OtherNodes {

    /**
     * Asks, at once.
     *
     * @return why this node's ranks are to be stopped, or empty
     */
    Optional<LaunchException> reasonToStop();
}
