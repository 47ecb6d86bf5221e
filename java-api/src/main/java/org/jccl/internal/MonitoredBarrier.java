package org.jccl.internal;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jccl.FailureContext;
import org.jccl.OperationTimeoutException;
import org.jccl.store.Store;
import org.jccl.store.StoreTimeoutException;

/**
 * A barrier over the store, in which rank 0 finds out who is missing and tells the others.
 *
 * @param context of the calling rank
 * @param size of the group
 * @param shared reached by all ranks of the group
 * @param prefix of this barrier's keys alone
 */
record MonitoredBarrier(FailureContext context, int size, Store shared, String prefix) {

    /**
     * Waits for the other ranks.
     *
     * @param wait how long rank 0 waits
     * @param waitAllRanks whether all missing ranks are named
     * @throws OperationTimeoutException when ranks are missing
     */
    void pass(Duration wait, boolean waitAllRanks) {
        if (context.rank() == 0) {
            List<Integer> missing = missingRanks(wait, waitAllRanks);
            shared.set(prefix + "missing", missing.toString().getBytes(StandardCharsets.UTF_8));
            failIfMissing(missing.toString(), wait);
        } else {
            shared.set(prefix + context.rank(), new byte[0]);
            try {
                // Rank 0 may come a whole timeout later and then waits for one.
                shared.await(List.of(prefix + "missing"), wait.multipliedBy(2));
            } catch (StoreTimeoutException e) {
                throw new OperationTimeoutException(
                        context, "monitoredBarrier: rank 0 did not answer in " + wait, e);
            }
            failIfMissing(new String(shared.get(prefix + "missing"), StandardCharsets.UTF_8), wait);
        }
    }

    private List<Integer> missingRanks(Duration wait, boolean waitAllRanks) {
        long deadline = System.nanoTime() + wait.toNanos();
        List<Integer> missing = new ArrayList<>();
        for (int rank = 1; rank < size && (waitAllRanks || missing.isEmpty()); rank++) {
            Duration left = Duration.ofNanos(Math.max(0, deadline - System.nanoTime()));
            String key = prefix + rank;
            try {
                if (!shared.check(List.of(key))) {
                    shared.await(List.of(key), left);
                }
            } catch (StoreTimeoutException e) {
                missing.add(rank);
            }
        }
        return missing;
    }

    private void failIfMissing(String missing, Duration wait) {
        if (!missing.equals("[]")) {
            throw new OperationTimeoutException(
                    context, "monitoredBarrier: ranks " + missing + " did not arrive in " + wait);
        }
    }
}
