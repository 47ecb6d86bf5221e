package org.jccl;

import java.time.Duration;

/**
 * Is told what a world and all groups made from it do, for metrics, traces and alarms. Given to
 * {@link ProcessGroupBuilder#listener}; groups made by {@code newGroup}, {@code split} and {@code
 * shrink} have their parent's listeners.
 *
 * <p>A thread of the world, {@code jccl-listeners-rank-N}, calls all its listeners, one after the
 * other, up to a hundredth of a second after the fact; failures, stalls and the ends of groups at
 * once. So a listener needs no locks of its own against itself, delays no operation, and may take
 * its time, close groups, abort them and issue operations. Such operations are reported like any
 * others, and while a listener waits nobody else is told anything.
 *
 * <p>Calls about one group come in the order of what happened on each thread. Each operation that
 * was reported as started is reported once more, as completed or failed, unless the library never
 * lets go of it before its group is closed. An operation that was still queued when its group
 * failed has not started and is not reported. When more than 16,384 operations start before a
 * listener has been told of those before, it is told nothing of the later ones but their number:
 * {@link #operationsMissed}.
 *
 * <p>What a listener throws is logged, once for each listener, and otherwise without effect.
 * Closing the world waits up to a second until its listeners have been told everything.
 *
 * <p>All methods do nothing unless they are overridden. Later versions may add such methods.
 */
public interface GroupListener {

    /**
     * A group was made.
     *
     * @param group the group on one of its backends
     * @param took how long forming it took, all ranks' arrival included
     */
    default void groupMade(GroupInfo group, Duration took) {}

    /**
     * An operation was handed to the library.
     *
     * @param operation asynchronous or synchronous
     */
    default void operationStarted(OperationInfo operation) {}

    /**
     * An operation is over, and this rank's part of the result is there.
     *
     * @param operation as it was started. One that was captured into a graph is over when the
     *     capture is; what the graph does later is not seen
     * @param time how long it took
     */
    default void operationCompleted(OperationInfo operation, OperationTime time) {}

    /**
     * An operation failed.
     *
     * @param operation as it was started
     * @param time how long it took
     * @param cause what its caller is told; most often the group has failed with it
     */
    default void operationFailed(
            OperationInfo operation, OperationTime time, JcclException cause) {}

    /**
     * An operation runs for longer than {@link #stallThreshold}. Told once for each operation, by a
     * look that is taken ten times a second. It may still complete.
     *
     * @param operation as it was started
     * @param soFar how long it has run
     */
    default void operationStalled(OperationInfo operation, Duration soFar) {}

    /**
     * From when on an operation counts as stalled. Asked once, when the listener is given.
     *
     * @return positive and at most a year; ten seconds unless overridden
     */
    default Duration stallThreshold() {
        return Duration.ofSeconds(10);
    }

    /**
     * Operations of which this listener was told nothing, since it was too slow.
     *
     * @param count how many since this was said last
     */
    default void operationsMissed(long count) {}

    /**
     * A group failed or was aborted. Told once; operations that ran are reported as failed too,
     * before or after.
     *
     * @param group the group on one of its backends
     * @param cause the first failure
     */
    default void groupFailed(GroupInfo group, JcclException cause) {}

    /**
     * A group was closed. The last that is told of it.
     *
     * @param group the group on one of its backends
     */
    default void groupClosed(GroupInfo group) {}
}
