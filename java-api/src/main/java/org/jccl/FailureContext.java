package org.jccl;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/**
 * Where a failure happened.
 *
 * @param group the name of the process group, or an empty string if there is none
 * @param rank the rank in that group, or -1 if unknown
 * @param operation the operation with its arguments, for instance {@code allReduce(float32 x 4,
 *     SUM)}, or an empty string
 * @param sequence the position of the operation among those of the group, from 0, or -1
 * @param worldRanks the ranks of the members in the world, by rank in the group; empty if they are
 *     the same or unknown
 */
public record FailureContext(
        String group, int rank, String operation, long sequence, List<Integer> worldRanks) {

    private static final int RANKS_NAMED = 16;

    /**
     * Creates the context of a failure in a group whose ranks are those of the world.
     *
     * @param group the name of the group, or an empty string
     * @param rank the rank in that group, or -1
     * @param operation the operation with its arguments, or an empty string
     * @param sequence the position of the operation, or -1
     */
    public FailureContext(String group, int rank, String operation, long sequence) {
        this(group, rank, operation, sequence, List.of());
    }

    /**
     * Checks the arguments.
     *
     * @param group the name of the group
     * @param rank the rank in that group
     * @param operation the operation
     * @param sequence its position
     * @param worldRanks the ranks of the members in the world; copied
     * @throws UsageException if an argument, or an element of the list, is null
     */
    public FailureContext {
        UsageException.nonNull(group, "group");
        UsageException.nonNull(operation, "operation");
        UsageException.nonNull(worldRanks, "worldRanks");
        List<Integer> copy = new ArrayList<>(worldRanks);
        copy.forEach(rankInWorld -> UsageException.nonNull(rankInWorld, "a rank of worldRanks"));
        worldRanks = List.copyOf(copy);
    }

    /** The context of a failure outside any group. */
    public static final FailureContext NONE = new FailureContext("", -1, "", -1);

    /**
     * Creates the context of a failure of a group as a whole, not of a single operation.
     *
     * @param group the name of the group
     * @param rank the rank in that group
     * @return the context
     * @throws UsageException if the name is null
     */
    public static FailureContext ofGroup(String group, int rank) {
        return new FailureContext(group, rank, "", -1);
    }

    /**
     * Returns this context for an operation.
     *
     * @param described the operation with its arguments
     * @param position the position of the operation, or -1
     * @return the context
     */
    public FailureContext of(String described, long position) {
        return new FailureContext(group, rank, described, position, worldRanks);
    }

    /** Returns group, rank and operation, and for a sub-group also its ranks in the world. */
    @Override
    public String toString() {
        StringBuilder text = new StringBuilder();
        if (!group.isEmpty()) {
            text.append("group '").append(group).append('\'');
            if (!worldRanks.isEmpty()) {
                text.append(" (ranks ").append(members()).append(" of the world)");
            }
        }
        if (rank >= 0) {
            text.append(text.isEmpty() ? "" : ", ").append("rank ").append(rank);
            if (rank < worldRanks.size()) {
                text.append(" (").append(worldRanks.get(rank)).append(" of the world)");
            }
        }
        if (!operation.isEmpty()) {
            text.append(text.isEmpty() ? "" : ", ");
            if (sequence >= 0) {
                text.append("operation ").append(sequence).append(' ');
            }
            text.append(operation);
        }
        return text.toString();
    }

    private String members() {
        String named =
                worldRanks.stream()
                        .limit(RANKS_NAMED)
                        .map(String::valueOf)
                        .collect(Collectors.joining(", "));
        return worldRanks.size() > RANKS_NAMED ? named + ", ..." : named;
    }
}
