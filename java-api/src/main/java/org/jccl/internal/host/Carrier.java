package org.jccl.internal.host;

import org.jccl.internal.operation.Operation;

/**
 * Brings operations into a library that can not be given their tensors as they are, and brings back
 * what comes of them.
 */
public interface Carrier extends AutoCloseable {

    /** Whether an operation must go this way. Always answers the same for it. */
    boolean carries(Operation operation);

    /**
     * Runs a collective that goes this way, from its beginning to its end. The caller has the turn.
     */
    void run(Operation operation);

    /**
     * Starts a message that goes this way, and does not wait. The caller has issued it.
     *
     * @return a request, for {@link #test} and {@link #await}
     */
    long start(Operation message);

    /**
     * Whether {@link #await} would return at once. Never blocks.
     *
     * @param request from {@link #start}
     */
    boolean test(long request);

    /**
     * Returns when a message is where it belongs. Called once.
     *
     * @param request from {@link #start}
     * @return the sender's rank for a receive, else -1
     */
    int await(long request);

    /** Frees what it has; nothing runs any more. */
    @Override
    void close();
}
