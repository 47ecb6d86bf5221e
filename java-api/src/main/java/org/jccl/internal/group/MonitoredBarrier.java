package org.jccl.internal.group;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jccl.FailureContext;
import org.jccl.OperationTimeoutException;
import org.jccl.Store;
import org.jccl.StoreTimeoutException;
import org.jccl.spi.BoundedCall;
import org.jccl.spi.CleanUp;
import org.jccl.spi.Durations;

/**
 * A barrier over the store, in which rank 0 finds out who is missing and tells the others. All
 * ranks get the same outcome.
 *
 * @param context of the calling rank
 * @param size of the group
 * @param shared reached by all ranks of the group
 * @param prefix of this barrier's keys alone
 */
record MonitoredBarrier(FailureContext context, int size, Store shared, String prefix) {

    private static final String OUTCOME = "missing";
    private static final String LEFT = "left";
    private static final String NONE = "ranks []";

    private static final Duration STORE_PATIENCE = Duration.ofSeconds(10);

    /**
     * Waits for the other ranks.
     *
     * @param wait how long rank 0 waits
     * @param waitAllRanks whether all missing ranks are named
     * @throws OperationTimeoutException if ranks are missing, or the store does not answer
     */
    void pass(Duration wait, boolean waitAllRanks) {
        bounded(() -> meet(wait, waitAllRanks), wait.multipliedBy(2));
    }

    private void meet(Duration wait, boolean waitAllRanks) {
        String missing = context.rank() == 0 ? find(wait, waitAllRanks) : ask(wait);
        // The outcome is known, whatever becomes of the store.
        CleanUp.run("monitoredBarrier of " + context, this::leave);
        if (!missing.equals(NONE)) {
            throw new OperationTimeoutException(
                    context,
                    "monitoredBarrier: " + missing + " did not arrive in " + Durations.text(wait));
        }
    }

    private String find(Duration wait, boolean waitAllRanks) {
        return agree("ranks " + missingRanks(wait, waitAllRanks));
    }

    private String ask(Duration wait) {
        shared.set(prefix + context.rank(), new byte[0]);
        // Rank 0 may come a whole timeout later and then waits for one.
        if (hears(wait) || hears(wait)) {
            return text(shared.get(prefix + OUTCOME));
        }
        return agree("rank 0");
    }

    /**
     * Whether the outcome is known in time.
     *
     * @throws OperationTimeoutException if the store says neither; it is not worth another wait
     */
    private boolean hears(Duration wait) {
        try {
            bounded(() -> shared.await(List.of(prefix + OUTCOME), wait), wait);
            return true;
        } catch (StoreTimeoutException e) {
            return false;
        }
    }

    /** Asks the store for something that takes some time, or none when it does not answer. */
    private void bounded(Runnable ask, Duration wait) {
        String name = "jccl-monitored-barrier-" + context.group();
        if (!BoundedCall.run(name, ask, wait.plus(STORE_PATIENCE))) {
            throw new OperationTimeoutException(
                    context,
                    "monitoredBarrier: the store does not answer; look at the process that serves"
                            + " it (rank 0 or the launcher)");
        }
    }

    /**
     * The rank that leaves last deletes the keys, since nobody reads them any more. A rank that
     * never comes leaves them there, as it may still ask.
     */
    private void leave() {
        if (shared.add(prefix + LEFT, 1) == size) {
            for (int rank = 1; rank < size; rank++) {
                shared.deleteKey(prefix + rank);
            }
            shared.deleteKey(prefix + OUTCOME);
            shared.deleteKey(prefix + LEFT);
        }
    }

    /** The first outcome counts: a rank that gave up must not be passed by one that comes later. */
    private String agree(String missing) {
        byte[] own = missing.getBytes(StandardCharsets.UTF_8);
        return text(shared.compareSet(prefix + OUTCOME, new byte[0], own));
    }

    private static String text(byte[] bytes) {
        return new String(bytes, StandardCharsets.UTF_8);
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
}
