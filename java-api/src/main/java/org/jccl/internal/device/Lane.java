package org.jccl.internal.device;

import org.jccl.JcclException;
import org.jccl.internal.engine.GroupFailure;

/**
 * What one group has on one native stream, numbered from 0 in the order in which it ends. Streams
 * remember lanes rather than groups, so that none keeps a group that was closed. Safe for use by
 * several threads.
 */
final class Lane {

    private final GroupFailure group;

    /** Everything up to this one is known to have ended well. */
    private long ended = -1;

    Lane(GroupFailure group) {
        this.group = group;
    }

    GroupFailure group() {
        return group;
    }

    /**
     * Everything up to a number has ended: well, unless the group has failed. To be called after
     * the end was seen, since a failure is set before the library lets go of what is stuck.
     */
    void ended(long number) {
        if (!group.isSet()) {
            endedWell(number);
        }
    }

    private synchronized void endedWell(long number) {
        ended = Math.max(ended, number);
    }

    /** Whether everything up to a number is known to have ended well. */
    synchronized boolean hasEndedWell(long number) {
        return number <= ended || group.hasEndedWell();
    }

    /** Why what has this number must count as failed, or null. */
    JcclException failureOf(long number) {
        JcclException failure = group.get();
        return failure == null || hasEndedWell(number) ? null : failure;
    }
}
