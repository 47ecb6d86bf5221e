package org.jccl;

import java.time.Duration;

/**
 * Receives the events of a world and of all groups made from it, for metrics, traces and alarms.
 * Add a listener with {@link ProcessGroupBuilder#listener}. Groups made by {@code newGroup}, {@code
 * split} and {@code shrink} have the listeners of their parent.
 *
 * <p>One thread of the world, {@code jccl-listeners-rank-N}, calls all its listeners, one after the
 * other. It reports failures, stalls and closed groups at once, and other events within 10 ms. A
 * listener therefore needs no locks against itself and does not delay operations. It may block,
 * close or abort groups, and issue operations, which are reported as well. While one listener
 * blocks, no other listener is called.
 *
 * <p>For each thread, the events of one group are reported in the order in which they happened.
 * Each started operation is reported again as completed or failed, unless the library does not
 * release it before its group is closed. Operations that were still queued when their group failed
 * are not reported. If a listener is more than 16,384 operations late, only the number of further
 * operations is reported: {@link #operationsMissed}.
 *
 * <p>The first exception of a listener is logged. Exceptions have no other effect. Closing the
 * world waits up to a second until its listeners have handled all events.
 *
 * <p>All methods do nothing by default. Later versions may add such methods.
 */
public interface GroupListener {

    /**
     * A group was created.
     *
     * @param group the group on one of its backends
     * @param took how long forming it took, including the wait for all ranks
     */
    default void groupMade(GroupInfo group, Duration took) {}

    /**
     * An operation was passed to the library.
     *
     * @param operation asynchronous or synchronous
     */
    default void operationStarted(OperationInfo operation) {}

    /**
     * An operation is complete on this rank.
     *
     * @param operation as it was started. An operation in a graph is complete when the capture
     *     ends; later executions of the graph are not observed
     * @param time how long it took
     */
    default void operationCompleted(OperationInfo operation, OperationTime time) {}

    /**
     * An operation failed.
     *
     * @param operation as it was started
     * @param time how long it took
     * @param cause the exception of its caller; usually the group has failed with it
     */
    default void operationFailed(
            OperationInfo operation, OperationTime time, JcclException cause) {}

    /**
     * An operation has run for longer than {@link #stallThreshold}. Reported once for each
     * operation, at most 0.1 s late. The operation may still complete.
     *
     * @param operation as it was started
     * @param soFar how long it has run
     */
    default void operationStalled(OperationInfo operation, Duration soFar) {}

    /**
     * Returns the time after which an operation counts as stalled. Called once, when the listener
     * is added.
     *
     * @return positive and at most a year; ten seconds by default
     */
    default Duration stallThreshold() {
        return Duration.ofSeconds(10);
    }

    /**
     * Operations were not reported because this listener was too slow.
     *
     * @param count the number since the last such report
     */
    default void operationsMissed(long count) {}

    /**
     * A group failed or was aborted. Reported once. Operations in flight are reported as failed as
     * well, before or after.
     *
     * @param group the group on one of its backends
     * @param cause the first failure
     */
    default void groupFailed(GroupInfo group, JcclException cause) {}

    /**
     * A group was closed. This is its last event.
     *
     * @param group the group on one of its backends
     */
    default void groupClosed(GroupInfo group) {}
}
