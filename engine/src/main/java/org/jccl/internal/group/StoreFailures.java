package org.jccl.internal.group;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.jccl.FailureContext;
import org.jccl.JcclException;
import org.jccl.OperationTimeoutException;
import org.jccl.PeerLostException;
import org.jccl.Store;
import org.jccl.StoreException;
import org.jccl.StoreTimeoutException;
import org.jccl.spi.BoundedCall;
import org.jccl.spi.CleanUp;
import org.jccl.spi.SilentStore;

/**
 * Explains failures of the store, and names rank 0 if it serves the store.
 *
 * @param context the calling rank
 * @param zero the rank in this group of rank 0 of the world; negative if it is not a member
 * @param served whether that rank serves the store
 * @param store the store of the group
 */
record StoreFailures(FailureContext context, int zero, boolean served, Optional<Store> store) {

    private static final Duration LOOK_TIMEOUT = Duration.ofSeconds(2);
    private static final String SERVER = "rank 0 of the world, which serves the store, ";

    /**
     * Returns the failure itself, or one that names rank 0. Calls the store for at most two
     * seconds.
     */
    JcclException explain(JcclException failure) {
        boolean mayBeStore =
                failure instanceof StoreException || failure instanceof OperationTimeoutException;
        if (!served || !mayBeStore || zero == context.rank()) {
            return failure;
        }
        if (SilentStore.isCauseOf(failure)) {
            return doesNotAnswer(failure);
        }
        try {
            Runnable look = () -> store.orElseThrow().check(List.of("anything"));
            if (BoundedCall.run("jccl-look-at-store", look, LOOK_TIMEOUT)) {
                return failure;
            }
        } catch (StoreTimeoutException e) {
            CleanUp.log(context.toString(), e);
        } catch (StoreException e) {
            JcclException lost =
                    new PeerLostException(context, SERVER + "is gone: " + failure.reason(), zero);
            lost.addSuppressed(failure);
            return lost;
        }
        return doesNotAnswer(failure);
    }

    private OperationTimeoutException doesNotAnswer(JcclException failure) {
        return OperationTimeoutException.ofCall(
                context, SERVER + "does not answer: " + failure.reason(), failure);
    }
}
