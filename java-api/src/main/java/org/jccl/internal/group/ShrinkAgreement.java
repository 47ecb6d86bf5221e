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
 * How the ranks that are left of a group agree on who they are, and whether the new group has been
 * made on all of them. Each question has one key, which the first answer takes by a
 * compare-and-set: so all ranks read the same answer, whoever of them is lost meanwhile.
 *
 * @param context of the calling rank
 * @param size of the group
 * @param shared reached by all ranks of the group
 * @param prefix of this attempt's keys alone
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
     * @param patience how long to wait for those that do not come
     * @return the ranks that are left, in their order
     * @throws GroupAbortedException if the others went on without this one
     */
    List<Integer> enter(Duration patience) {
        long end = System.nanoTime() + patience.toNanos();
        shared.set(here(context.rank()), new byte[0]);
        // Counted after it was written, so whoever sees the count finds all keys.
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
                    "shrink: ranks %s went on without this one, which came too late for them: they waited for %s. End this process, or give shrink more time on all ranks"
                            .formatted(members, Durations.text(patience)));
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
     * Tells whether the new group was made here, and waits until all members have told or one could
     * not make it.
     *
     * @param made here
     * @param members number of ranks that are left
     * @param patience how long to wait for the others
     * @return whether all members have made it
     */
    boolean conclude(boolean made, int members, Duration patience) {
        long end = System.nanoTime() + patience.toNanos();
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

    /** The first answer that any rank gives. */
    private String answer(String question, String own) {
        byte[] said = own.getBytes(StandardCharsets.UTF_8);
        return new String(
                shared.compareSet(prefix + question, new byte[0], said), StandardCharsets.UTF_8);
    }

    private String here(int rank) {
        return prefix + "here/" + rank;
    }
}
