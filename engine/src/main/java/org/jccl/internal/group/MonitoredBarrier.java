package org.jccl.internal.group;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jccl.FailureContext;
import org.jccl.OperationTimeoutException;
import org.jccl.Store;
import org.jccl.StoreTimeoutException;
import org.jccl.spi.Arrivals;
import org.jccl.spi.BoundedCall;
import org.jccl.spi.CleanUp;
import org.jccl.spi.Durations;

/**
 * A barrier over the store, in which rank 0 finds the missing ranks and reports them to the others.
 * All ranks get the same outcome, unless the group fails meanwhile.
 *
 * @param context the calling rank
 * @param size size of the group
 * @param shared the store of all ranks of the group
 * @param prefix the prefix of the keys of this barrier
 */
record MonitoredBarrier(FailureContext context, int size, Store shared, String prefix) {

    private static final String OUTCOME = "missing";
    private static final String LEFT = "left";
    private static final String NONE = "ranks []";

    private static final Duration STORE_GRACE = Duration.ofSeconds(10);
    private static final Duration CHECK_INTERVAL = Duration.ofSeconds(1);

    /**
     * Waits for the other ranks.
     *
     * @param wait how long rank 0 waits
     * @param waitAllRanks whether all missing ranks are named
     * @param checkGroup called now and then; what it throws ends the wait
     * @throws OperationTimeoutException if ranks are missing, or the store does not answer
     */
    void pass(Duration wait, boolean waitAllRanks, Runnable checkGroup) {
        BoundedCall meeting = BoundedCall.start(thread(), () -> meet(wait, waitAllRanks));
        Duration longest = wait.multipliedBy(2).plus(STORE_GRACE);
        if (!meeting.await(longest, CHECK_INTERVAL, checkGroup)) {
            throw noAnswer();
        }
    }

    private void meet(Duration wait, boolean waitAllRanks) {
        String missing = context.rank() == 0 ? find(wait, waitAllRanks) : ask(wait);
        // The outcome is known, so a failure of the store does not matter.
        CleanUp.run("monitoredBarrier of " + context, this::leave);
        if (!missing.equals(NONE)) {
            throw OperationTimeoutException.ofCall(
                    context,
                    "monitoredBarrier: " + missing + " did not arrive in " + Durations.text(wait),
                    null);
        }
    }

    private String find(Duration wait, boolean waitAllRanks) {
        return agree("ranks " + missingRanks(wait, waitAllRanks));
    }

    private String ask(Duration wait) {
        shared.set(prefix + context.rank(), new byte[0]);
        // Rank 0 may come a whole timeout later, and then waits for another one.
        if (isDecided(wait) || isDecided(wait)) {
            return Arrivals.text(shared.get(prefix + OUTCOME));
        }
        return agree("rank 0");
    }

    /**
     * Returns whether the outcome is known in time.
     *
     * @throws OperationTimeoutException if the store does not answer; another wait is then useless
     */
    private boolean isDecided(Duration wait) {
        try {
            bounded(() -> shared.await(List.of(prefix + OUTCOME), wait), wait);
            return true;
        } catch (StoreTimeoutException e) {
            return false;
        }
    }

    /** Runs a request to the store with a time limit. */
    private void bounded(Runnable ask, Duration wait) {
        if (!BoundedCall.run(thread(), ask, wait.plus(STORE_GRACE))) {
            throw noAnswer();
        }
    }

    private String thread() {
        return "jccl-monitored-barrier-" + context.group();
    }

    private OperationTimeoutException noAnswer() {
        return OperationTimeoutException.ofCall(
                context,
                "monitoredBarrier: the store does not answer; look at the process that serves"
                        + " it (rank 0 or the launcher)",
                null);
    }

    /**
     * Deletes the keys if this rank is the last one to leave. A rank that never comes leaves the
     * keys in place, as it may still read them.
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

    /**
     * Sets the outcome if there is none yet. The first outcome counts: a rank that gave up must not
     * be contradicted by a later one.
     */
    private String agree(String missing) {
        byte[] own = missing.getBytes(StandardCharsets.UTF_8);
        return Arrivals.text(shared.compareSet(prefix + OUTCOME, new byte[0], own));
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
