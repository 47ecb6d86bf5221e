package org.jccl.internal.operation;

import org.jccl.JcclException;

/**
 * Sees what happens in one group on one backend. The one hook of the engines: flight recorder, JFR
 * and listeners are such observers. Called by the threads that issue and complete operations and by
 * the watchdog, so none of these methods may block, call the library or throw.
 */
public interface OperationObserver {

    /**
     * Whether to tell it of operations that start now. Asked for each, so it must cost next to
     * nothing.
     */
    boolean isOn();

    /** Whether to tell it when threads of the program are blocked. */
    default boolean seesWaits() {
        return false;
    }

    /**
     * The calling thread, one of the program, is blocked for an operation from now on, until {@link
     * #waited}.
     *
     * @param operation the engine's own, which is given its sequence later and used again after the
     *     wait
     * @param beganNanos now, of {@link System#nanoTime()}
     */
    default void waiting(Operation operation, long beganNanos) {}

    /**
     * The calling thread, one of the program, was blocked for an operation until now.
     *
     * @param collective whether it is one
     * @param sequence of the operation
     * @param beganNanos since when, of {@link System#nanoTime()}
     */
    default void waited(boolean collective, long sequence, long beganNanos) {}

    /** From when on an operation counts as stalled for it, or {@link Long#MAX_VALUE}. */
    default long stallNanos() {
        return Long.MAX_VALUE;
    }

    /** The group is ready, which took as long. */
    default void groupMade(long nanos) {}

    /** An operation is about to be handed to the library; under the running operations' monitor. */
    void started(OperationRecord operation);

    /** It is over, well or not. Only called for what it was told the start of by some observer. */
    void ended(OperationRecord operation);

    /** It runs for longer than {@link #stallNanos}. Once for each operation, by the watchdog. */
    default void stalled(OperationRecord operation, long nanos) {}

    /** The group failed; once. */
    default void groupFailed(JcclException cause) {}

    /** The group is closed; once. */
    default void groupClosed() {}
}
