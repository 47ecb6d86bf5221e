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
 * Makes a group of the ranks that are left, in as many attempts as it takes: a rank that is lost
 * meanwhile is left out by another one.
 *
 * @param context of the calling rank
 * @param size of the group that lost ranks
 * @param shared store of that group
 * @param attempts numbers attempts, alike on all ranks
 * @param forming makes the group
 */
record Shrinking(
        FailureContext context, int size, Store shared, IntSupplier attempts, Forming forming) {

    /** How long the ranks that are left may take at least to form a communicator. */
    private static final Duration SHORTEST_FORMING = Duration.ofSeconds(10);

    /** Makes the group of an attempt. */
    interface Forming {
        Group of(List<Integer> ranks, int attempt, long deadline);
    }

    /**
     * Returns when the group is made on all ranks that are left.
     *
     * @param patience how long to wait for ranks that do not come
     * @param timeout of all attempts together
     * @return the group
     */
    Group run(Duration patience, Duration timeout) {
        // A rank that is lost now is waited for as long as that, since nobody may notice it.
        Duration twice = patience.multipliedBy(2);
        Duration time = SHORTEST_FORMING.compareTo(twice) > 0 ? SHORTEST_FORMING : twice;
        long end = System.nanoTime() + timeout.toNanos();
        while (true) {
            Optional<Group> made = attempt(attempts.getAsInt(), patience, time);
            if (made.isPresent()) {
                return made.get();
            }
            if (System.nanoTime() - end >= 0) {
                throw new OperationTimeoutException(
                        context,
                        "shrink: no group of the ranks that are left came about in %s, as ranks were lost again and again; end the job"
                                .formatted(Durations.text(timeout)));
            }
        }
    }

    private Optional<Group> attempt(int attempt, Duration patience, Duration time) {
        ShrinkAgreement agreement =
                new ShrinkAgreement(context, size, shared, "shrink/" + attempt + "/");
        List<Integer> left = agreement.enter(patience);
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
