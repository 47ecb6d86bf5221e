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

    /** How long copies may take that nobody needs any more. */
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
     * Waits for what uses memory of ours, and so must end although the group has failed.
     *
     * @throws org.jccl.JcclException when the device does not come to its end any more
     */
    void awaitCopies(BooleanSupplier isDone) {
        await(isDone, graceNanos);
    }

    private void await(BooleanSupplier isDone, long grace) {
        long failed = 0;
        for (long polls = 0; !isDone.getAsBoolean(); polls++) {
            Polling.pause(polls, SPINS);
            if (failed == 0 && failure.isSet()) {
                failed = System.nanoTime();
            }
            if (failed != 0 && System.nanoTime() - failed >= grace) {
                if (grace == 0) {
                    throw failure.get();
                }
                throw new GroupAbortedException(
                        FailureContext.NONE, "the device does not finish its copies");
            }
        }
    }
}
