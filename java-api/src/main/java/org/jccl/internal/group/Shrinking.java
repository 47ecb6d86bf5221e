package org.jccl.internal.group;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.IntSupplier;
import org.jccl.FailureContext;
import org.jccl.JcclException;
import org.jccl.OperationTimeoutException;
import org.jccl.Store;
import org.jccl.spi.CleanUp;
import org.jccl.spi.Durations;

/**
 * Makes a group of the remaining ranks, in as many attempts as necessary: a rank that is lost
 * meanwhile is left out by the next attempt.
 *
 * @param context the calling rank
 * @param size size of the group that lost ranks
 * @param shared the store of that group
 * @param attempts numbers the attempts, equally on all ranks
 * @param forming makes the group
 */
record Shrinking(
        FailureContext context, int size, Store shared, IntSupplier attempts, Forming forming) {

    /** The minimum time for the remaining ranks to form a communicator. */
    private static final Duration SHORTEST_FORMING = Duration.ofSeconds(10);

    /** Makes the group of an attempt. */
    interface Forming {
        Group of(List<Integer> ranks, int attempt, long deadline);
    }

    /**
     * Returns when the group is made on all remaining ranks.
     *
     * @param gracePeriod how long to wait for ranks that do not come
     * @param timeout the timeout of all attempts together
     */
    Group run(Duration gracePeriod, Duration timeout) {
        // If a rank is lost now, the others may wait for it that long, since no rank may notice.
        Duration twice = gracePeriod.multipliedBy(2);
        Duration time = SHORTEST_FORMING.compareTo(twice) > 0 ? SHORTEST_FORMING : twice;
        long end = System.nanoTime() + timeout.toNanos();
        while (true) {
            Optional<Group> made = attempt(attempts.getAsInt(), gracePeriod, time);
            if (made.isPresent()) {
                return made.get();
            }
            if (System.nanoTime() - end >= 0) {
                throw new OperationTimeoutException(
                        context,
                        "shrink: no group of the remaining ranks was formed in %s, because more ranks were lost; end the job"
                                .formatted(Durations.text(timeout)));
            }
        }
    }

    private Optional<Group> attempt(int attempt, Duration gracePeriod, Duration time) {
        ShrinkAgreement agreement =
                new ShrinkAgreement(context, size, shared, "shrink/" + attempt + "/");
        List<Integer> left = agreement.enter(gracePeriod);
        Optional<Group> made = Optional.empty();
        try {
            made = Optional.of(forming.of(left, attempt, System.nanoTime() + time.toNanos()));
        } catch (JcclException e) {
            CleanUp.failed(context.toString(), e);
        }
        if (!agreement.conclude(made.isPresent(), left.size(), time.multipliedBy(2))) {
            made.ifPresent(
                    group -> {
                        group.abort();
                        CleanUp.run(context.toString(), group::close);
                    });
            return Optional.empty();
        }
        return made;
    }
}
