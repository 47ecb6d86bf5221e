package org.jccl.internal.host;

import org.jccl.internal.operation.Operation;

/**
 * Copies the tensors of operations to and from memory that the library takes, if it cannot take
 * them directly.
 */
public interface Staging extends AutoCloseable {

    /** Whether an operation must be staged. Always answers the same for it. */
    boolean stages(Operation operation);

    /** Runs a staged collective from its beginning to its end. The caller has the queue lock. */
    void run(Operation operation);

    /**
     * Starts a staged message and does not wait. The caller has issued it.
     *
     * @return a request, for {@link #test} and {@link #await}
     */
    long start(Operation message);

    /** Whether {@link #await} would return at once. Never blocks. */
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
