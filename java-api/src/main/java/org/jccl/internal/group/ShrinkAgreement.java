package org.jccl.internal.group;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jccl.FailureContext;
import org.jccl.GroupAbortedException;
import org.jccl.Store;
import org.jccl.spi.Durations;

/**
 * How the remaining ranks of a group agree on the members of a new group, and on whether all
 * members have made it. Each question has one key, and the first answer takes it by a
 * compare-and-set. So all ranks read the same answer, even if a rank is lost meanwhile.
 *
 * @param context the calling rank
 * @param size size of the group
 * @param shared the store of all ranks of the group
 * @param prefix the prefix of the keys of this attempt
 */
record ShrinkAgreement(FailureContext context, int size, Store shared, String prefix) {

    private static final String MEMBERS = "members";
    private static final String OUTCOME = "outcome";
    private static final String MADE = "made";
    private static final String NOT_MADE = "not made";
    private static final Duration POLL = Duration.ofMillis(20);

    /**
     * Waits for the other ranks.
     *
     * @param gracePeriod how long to wait for ranks that do not come
     * @return the remaining ranks, in their order
     * @throws GroupAbortedException if the others continued without this rank
     */
    List<Integer> enter(Duration gracePeriod) {
        long end = System.nanoTime() + gracePeriod.toNanos();
        shared.set(here(context.rank()), new byte[0]);
        // Counted after the key was written, so a rank that sees the count finds all keys.
        long count = shared.add(prefix + "count", 1);
        while (count < size && System.nanoTime() - end < 0 && !isAnswered(MEMBERS)) {
            LockSupport.parkNanos(POLL.toNanos());
            count = shared.add(prefix + "count", 0);
        }
        List<Integer> members =
                Arrays.stream(answer(MEMBERS, isAnswered(MEMBERS) ? "" : present()).split(","))
                        .map(Integer::valueOf)
                        .toList();
        if (!members.contains(context.rank())) {
            throw new GroupAbortedException(
                    context,
                    "shrink: ranks %s continued without this one, which came too late: they waited for %s. End this process, or give shrink a longer grace period on all ranks"
                            .formatted(members, Durations.text(gracePeriod)));
        }
        return members;
    }

    private String present() {
        return IntStream.range(0, size)
                .filter(rank -> shared.check(List.of(here(rank))))
                .mapToObj(Integer::toString)
                .collect(Collectors.joining(","));
    }

    /**
     * Reports whether this rank has made the new group, and waits until all members have reported
     * success or one has reported failure.
     *
     * @param made whether this rank has made it
     * @param members number of remaining ranks
     * @param gracePeriod how long to wait for the others
     * @return whether all members have made it
     */
    boolean conclude(boolean made, int members, Duration gracePeriod) {
        long end = System.nanoTime() + gracePeriod.toNanos();
        if (!made) {
            return answer(OUTCOME, NOT_MADE).equals(MADE);
        }
        if (shared.add(prefix + "finished", 1) == members) {
            return answer(OUTCOME, MADE).equals(MADE);
        }
        while (!isAnswered(OUTCOME)) {
            if (System.nanoTime() - end >= 0) {
                return answer(OUTCOME, NOT_MADE).equals(MADE);
            }
            LockSupport.parkNanos(POLL.toNanos());
        }
        return answer(OUTCOME, NOT_MADE).equals(MADE);
    }

    private boolean isAnswered(String question) {
        return shared.check(List.of(prefix + question));
    }

    /** Returns the first answer of any rank. */
    private String answer(String question, String own) {
        byte[] said = own.getBytes(StandardCharsets.UTF_8);
        return new String(
                shared.compareSet(prefix + question, new byte[0], said), StandardCharsets.UTF_8);
    }

    private String here(int rank) {
        return prefix + "here/" + rank;
    }
}
