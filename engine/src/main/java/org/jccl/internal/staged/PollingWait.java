package org.jccl.internal.staged;

import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.jccl.FailureContext;
import org.jccl.GroupAbortedException;
import org.jccl.internal.engine.GroupFailure;
import org.jccl.spi.Polling;

/**
 * Waits for a device by polling. A thread that blocked inside the vendor's library would not notice
 * that the group has failed.
 */
final class PollingWait {

    private static final int SPINS = 200;

    /** How long after a failure copies may take, whose result is no longer needed. */
    static final long GRACE_NANOS = TimeUnit.SECONDS.toNanos(10);

    private final GroupFailure failure;
    private final long graceNanos;

    PollingWait(GroupFailure failure, long graceNanos) {
        this.failure = failure;
        this.graceNanos = graceNanos;
    }

    /**
     * Waits for something that does not use memory of this group.
     *
     * @throws org.jccl.JcclException the failure of the group, as soon as it is set
     */
    void awaitOthers(BooleanSupplier isDone) {
        await(isDone, 0);
    }

    /**
     * Waits for something that uses memory of this group, and so must end although the group has
     * failed. All such waits of a group have one deadline.
     *
     * @throws org.jccl.JcclException if it does not end before the deadline
     */
    void awaitCopies(BooleanSupplier isDone) {
        await(isDone, graceNanos);
    }

    private void await(BooleanSupplier isDone, long grace) {
        for (long polls = 0; !isDone.getAsBoolean(); polls++) {
            Polling.pause(polls, SPINS);
            if (failure.isOlderThan(grace)) {
                throw grace == 0 ? failure.get() : tooLate();
            }
        }
    }

    /** Throws the failure of the group, if there is one. */
    void requireNoFailure() {
        if (failure.isSet()) {
            throw failure.get();
        }
    }

    /** Whether the deadline of all waits has passed. */
    boolean isOver() {
        return failure.isOlderThan(graceNanos);
    }

    /** The failure of something that has not ended by the deadline. */
    GroupAbortedException tooLate() {
        return new GroupAbortedException(
                FailureContext.NONE, "the device did not complete its copies", failure.get());
    }
}
