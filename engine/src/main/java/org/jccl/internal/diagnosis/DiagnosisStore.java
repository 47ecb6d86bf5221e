package org.jccl.internal.diagnosis;

import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jccl.JcclException;
import org.jccl.Store;

/**
 * The store of a group as the diagnosis asks it. A store that fails or does not answer is left
 * alone for a while. The monitor of this object guards whatever is read and written there, and is
 * held while the store is asked.
 */
final class DiagnosisStore {

    private static final System.Logger LOGGER = System.getLogger(DesyncDetector.class.getName());

    private static final long QUIET_NANOS = TimeUnit.SECONDS.toNanos(10);

    /** Connects on the first call; called on the diagnosis thread only. */
    private final Optional<Supplier<Store>> store;

    private final int rank;
    private final int size;
    private boolean warned;

    /** Whether this rank closes the group, after which the store may be gone too. */
    private volatile boolean left;

    /** Until when the store is left alone, because it did not answer; 0 when it did. */
    private volatile long quietUntil;

    DiagnosisStore(Optional<Supplier<Store>> store, int rank, int size) {
        this.store = store;
        this.rank = rank;
        this.size = size;
    }

    /** Whether there is a store, and another rank to ask about. */
    boolean exists() {
        return store.isPresent() && size > 1;
    }

    boolean isReachable() {
        return exists() && (quietUntil == 0 || System.nanoTime() - quietUntil > 0);
    }

    Store get() {
        return store.orElseThrow().get();
    }

    /** Failures of the store are no longer logged: the job ends. */
    void leave() {
        left = true;
    }

    /**
     * Notes that the store is gone, does not answer, or was closed before the group. Its process
     * may only be slow, so it is asked again after a while.
     */
    void failed(JcclException cause) {
        quietUntil = System.nanoTime() + QUIET_NANOS;
        if (!warned && !left) {
            warned = true;
            LOGGER.log(
                    System.Logger.Level.WARNING,
                    "rank "
                            + rank
                            + ": the store is gone, so a stuck operation can not be explained: "
                            + cause.getMessage());
        }
    }
}
