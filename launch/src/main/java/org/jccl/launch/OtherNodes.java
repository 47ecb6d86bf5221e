package org.jccl.launch;

import java.util.Optional;

/** The state of the other nodes, for a launcher that waits for its own ranks. */
interface OtherNodes {

    /**
     * Asks without waiting.
     *
     * @return why the ranks of this node must be stopped, or empty
     */
    Optional<LaunchException> reasonToStop();
}
