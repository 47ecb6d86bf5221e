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
 * <p>Equal numbers meet, as with collectives. A rank that missed a barrier may be late or may have
 * skipped it. If it joined the next one instead, a late rank would pass a barrier that comes after
 * code that it has not run yet.
 *
 * @param context the calling rank
 * @param size size of the group
 * @param shared the store of all ranks of the group
 * @param number how many monitored barriers of the group this rank has called, with this one
 */
record MonitoredBarrier(FailureContext context, int size, Store shared, int number) {

    private static final String OUTCOME = "missing";
    private static final String LEFT = "left";
    private static final String ALL_ARRIVED = "";

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
        boolean late = shared.check(List.of(key(OUTCOME)));
        String missing =
                late ? outcome() : context.rank() == 0 ? find(wait, waitAllRanks) : ask(wait);
        // The outcome is known, so a failure of the store does not matter.
        CleanUp.run("monitoredBarrier of " + context, this::leave);
        if (!missing.equals(ALL_ARRIVED)) {
            throw timeout(missing + (late ? advice() : ""));
        }
    }

    private String find(Duration wait, boolean waitAllRanks) {
        List<Integer> missing = missingRanks(wait, waitAllRanks);
        return agree(missing.isEmpty() ? ALL_ARRIVED : late("ranks " + missing, wait));
    }

    private String ask(Duration wait) {
        shared.set(key(context.rank()), new byte[0]);
        // Rank 0 may come a whole timeout later, and then waits for another one.
        return isDecided(wait) || isDecided(wait) ? outcome() : agree(late("rank 0", wait));
    }

    private static String late(String missing, Duration wait) {
        return missing + " did not arrive in " + Durations.text(wait);
    }

    private String advice() {
        return "; rank %d called it after that. A rank that skips a call stays one behind: all ranks must call monitoredBarrier equally often"
                .formatted(context.rank());
    }

    private OperationTimeoutException timeout(String why) {
        return OperationTimeoutException.ofCall(
                context, "monitoredBarrier, call " + number + " of this group: " + why, null);
    }

    private String key(Object name) {
        return "monitored-barrier/" + number + "/" + name;
    }

    private String outcome() {
        return Arrivals.text(shared.get(key(OUTCOME)));
    }

    /**
     * Returns whether the outcome is known in time.
     *
     * @throws OperationTimeoutException if the store does not answer; another wait is then useless
     */
    private boolean isDecided(Duration wait) {
        try {
            bounded(() -> shared.await(List.of(key(OUTCOME)), wait), wait);
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
        return timeout(
                "the store does not answer; look at the process that serves it (rank 0 or the"
                        + " launcher)");
    }

    /**
     * Deletes the keys if this rank is the last one to leave. A rank that never comes leaves the
     * keys in place, as it may still read them.
     */
    private void leave() {
        if (shared.add(key(LEFT), 1) == size) {
            for (int rank = 1; rank < size; rank++) {
                shared.deleteKey(key(rank));
            }
            shared.deleteKey(key(OUTCOME));
            shared.deleteKey(key(LEFT));
        }
    }

    /**
     * Sets the outcome if there is none yet. The first outcome counts: a rank that gave up must not
     * be contradicted by a later one.
     */
    private String agree(String missing) {
        byte[] own = missing.getBytes(StandardCharsets.UTF_8);
        return Arrivals.text(shared.compareSet(key(OUTCOME), new byte[0], own));
    }

    private List<Integer> missingRanks(Duration wait, boolean waitAllRanks) {
        long deadline = System.nanoTime() + wait.toNanos();
        List<Integer> missing = new ArrayList<>();
        for (int rank = 1; rank < size && (waitAllRanks || missing.isEmpty()); rank++) {
            Duration left = Duration.ofNanos(Math.max(0, deadline - System.nanoTime()));
            List<String> arrived = List.of(key(rank));
            try {
                if (!shared.check(arrived)) {
                    shared.await(arrived, left);
                }
            } catch (StoreTimeoutException e) {
                missing.add(rank);
            }
        }
        return missing;
    }
}
