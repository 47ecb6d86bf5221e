package org.jccl.internal.group;

import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.List;
import java.util.UUID;
import org.jccl.FailureContext;
import org.jccl.UsageException;

/** The ranks of a sub-group. */
final class MemberRanks {

    private static final int RANKS_IN_NAME = 8;

    private MemberRanks() {}

    /**
     * Checks the list of a caller.
     *
     * @throws UsageException if it is not a list of different ranks of the group
     */
    static void check(List<Integer> ranks, int size, FailureContext context) {
        if (ranks == null || ranks.isEmpty()) {
            throw new UsageException(context, "newGroup: ranks must name at least one rank");
        }
        if (new HashSet<>(ranks).size() != ranks.size()) {
            throw new UsageException(context, "newGroup: a rank is given twice in " + ranks);
        }
        for (Integer rank : ranks) {
            if (rank == null || rank < 0 || rank >= size) {
                throw new UsageException(
                        context,
                        "newGroup: ranks must be from 0 to " + (size - 1) + ", got " + ranks);
            }
        }
    }

    /** Returns a part of the name of a group: equal for equal ranks, and of limited length. */
    static String text(List<Integer> ranks) {
        if (ranks.size() <= RANKS_IN_NAME) {
            return ranks.toString().replace(" ", "").replace("[", "").replace("]", "");
        }
        byte[] all = ranks.toString().getBytes(StandardCharsets.UTF_8);
        return ranks.size() + "ranks-" + UUID.nameUUIDFromBytes(all);
    }
}
