package org.jccl.internal.device.failures;

import org.jccl.JcclException;
import org.jccl.internal.engine.GroupFailure;

/**
 * The operations of one group on one native stream, numbered from 0 in the order in which they end:
 * one component of a {@link VectorClock}. Clocks refer to timelines and not to engines, so that no
 * stream retains a group that was closed. Safe for use by several threads.
 */
public final class Timeline {

    private final GroupFailure group;

    /** All operations up to this one are known to have succeeded. */
    private long succeeded = -1;

    public Timeline(GroupFailure group) {
        this.group = group;
    }

    GroupFailure group() {
        return group;
    }

    /**
     * All operations up to a number have ended. They have succeeded, unless the group has failed.
     * To be called after the end was seen: a failure is set before the library aborts operations.
     */
    public void ended(long number) {
        if (!group.isSet()) {
            advance(number);
        }
    }

    private synchronized void advance(long number) {
        succeeded = Math.max(succeeded, number);
    }

    /** Whether all operations up to a number are known to have succeeded. */
    synchronized boolean hasSucceeded(long number) {
        return number <= succeeded || group.hasSucceeded();
    }

    /** The failure of the operation with a number, or null. */
    JcclException failureOf(long number) {
        JcclException failure = group.get();
        return failure == null || hasSucceeded(number) ? null : failure;
    }
}
