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

    /** How long after a failure copies may take that nobody needs any more. */
    static final long GRACE_NANOS = TimeUnit.SECONDS.toNanos(10);

    private final GroupFailure failure;
    private final long graceNanos;

    PollingWait(GroupFailure failure, long graceNanos) {
        this.failure = failure;
        this.graceNanos = graceNanos;
    }

    /**
     * Waits for what others have to do.
     *
     * @throws org.jccl.JcclException the group's failure, at once when it is set
     */
    void awaitOthers(BooleanSupplier isDone) {
        await(isDone, 0);
    }

    /**
     * Waits for what uses memory of ours, and so must end although the group has failed. All such
     * waits of a group have one deadline.
     *
     * @throws org.jccl.JcclException when the device does not come to its end any more
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

    /** Whether nothing is waited for any longer. */
    boolean isOver() {
        return failure.isOlderThan(graceNanos);
    }

    /** The failure of what has not ended by then. */
    GroupAbortedException tooLate() {
        return new GroupAbortedException(
                FailureContext.NONE, "the device does not finish its copies", failure.get());
    }
}
