package org.jccl.internal.operation;

import org.jccl.JcclException;

/**
 * Observes one group on one backend. It is the only hook of the engines: flight recorder, JFR and
 * listeners are observers. The threads that issue and complete operations and the watchdog call it,
 * so its methods must not block, call the library or throw.
 */
public interface OperationObserver {

    /**
     * Returns whether it wants to see operations that start now. Called for each operation, so it
     * must be cheap.
     */
    boolean isOn();

    /** Returns whether it wants to see when threads of the program are blocked. */
    default boolean seesWaits() {
        return false;
    }

    /**
     * The calling thread, a thread of the program, is blocked for an operation until {@link
     * #waited}.
     *
     * @param operation the object of the engine, which gets its sequence later and is reused after
     *     the wait
     * @param beganNanos now, by {@link System#nanoTime()}
     */
    default void waiting(Operation operation, long beganNanos) {}

    /**
     * The calling thread, a thread of the program, was blocked for an operation until now.
     *
     * @param collective whether it is a collective
     * @param sequence the sequence of the operation
     * @param beganNanos since when, by {@link System#nanoTime()}
     */
    default void waited(boolean collective, long sequence, long beganNanos) {}

    /** Returns the time after which an operation counts as stalled, or {@link Long#MAX_VALUE}. */
    default long stallNanos() {
        return Long.MAX_VALUE;
    }

    /** The group is ready. Forming it took the given time. */
    default void groupMade(long nanos) {}

    /**
     * An operation is about to be passed to the library. Called under the monitor of the running
     * operations.
     */
    void started(OperationRecord operation);

    /** An operation has completed or failed. Called only if an observer saw its start. */
    void ended(OperationRecord operation);

    /**
     * An operation runs for longer than {@link #stallNanos}. The watchdog calls it once for each
     * operation.
     */
    default void stalled(OperationRecord operation, long nanos) {}

    /** The group failed. Called once, before what is stuck is aborted: never waits. */
    default void groupFailed(JcclException cause) {}

    /** The process is about to be ended, because the group failed. May wait for a limited time. */
    default void processEnds() {}

    /** The group is closed. Called once. */
    default void groupClosed() {}
}
