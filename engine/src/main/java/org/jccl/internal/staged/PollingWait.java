package org.jccl.internal.staged;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.jccl.FailureContext;
import org.jccl.GroupAbortedException;
import org.jccl.internal.engine.GroupFailure;

/**
 * Waits for a device by polling. A thread that blocked inside the vendor's library would not notice
 * that the group has failed.
 */
final class PollingWait {

    private static final int SPINS = 200;
    private static final long LEAST_NANOS = 20_000;
    private static final long MOST_NANOS = 500_000;

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
        long start = System.nanoTime();
        long failed = 0;
        for (int i = 0; !isDone.getAsBoolean(); i++) {
            if (i < SPINS) {
                Thread.onSpinWait();
                continue;
            }
            long now = System.nanoTime();
            if (failed == 0 && failure.isSet()) {
                failed = now;
            }
            if (failed != 0 && now - failed >= grace) {
                if (grace == 0) {
                    throw failure.get();
                }
                throw new GroupAbortedException(
                        FailureContext.NONE, "the device does not finish its copies");
            }
            LockSupport.parkNanos(Math.max(LEAST_NANOS, Math.min((now - start) / 16, MOST_NANOS)));
        }
    }
}
