package org.jccl;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/**
 * Where a failure happened.
 *
 * @param group name of the process group, or an empty string when there is none yet
 * @param rank rank in that group, or -1 when it is not known yet
 * @param operation the operation with its arguments, for instance {@code allReduce(float32 x 4,
 *     SUM)}, or an empty string
 * @param sequence position of the operation among those issued on the group, starting at 0, or -1
 * @param worldRanks the members' ranks in the world, by rank in the group; empty where these are
 *     the same, or not known
 */
public record FailureContext(
        String group, int rank, String operation, long sequence, List<Integer> worldRanks) {

    private static final int RANKS_NAMED = 16;

    /**
     * A failure in a group whose ranks are those of the world.
     *
     * @param group name of the group, or an empty string
     * @param rank rank in that group, or -1
     * @param operation the operation with its arguments, or an empty string
     * @param sequence position of the operation, or -1
     */
    public FailureContext(String group, int rank, String operation, long sequence) {
        this(group, rank, operation, sequence, List.of());
    }

    /**
     * Checks the arguments.
     *
     * @param group name of the group
     * @param rank rank in that group
     * @param operation the operation
     * @param sequence its position
     * @param worldRanks the members' ranks in the world; copied
     * @throws UsageException when an argument, or a rank of the list, is null
     */
    public FailureContext {
        Given.notNull(group, "group");
        Given.notNull(operation, "operation");
        Given.notNull(worldRanks, "worldRanks");
        List<Integer> copy = new ArrayList<>(worldRanks);
        copy.forEach(rankInWorld -> Given.notNull(rankInWorld, "a rank of worldRanks"));
        worldRanks = List.copyOf(copy);
    }

    /** A failure outside any group. */
    public static final FailureContext NONE = new FailureContext("", -1, "", -1);

    /**
     * A failure of a group that belongs to no single operation.
     *
     * @param group name of the group
     * @param rank rank in that group
     * @return the context
     * @throws UsageException when the name is null
     */
    public static FailureContext ofGroup(String group, int rank) {
        return new FailureContext(group, rank, "", -1);
    }

    /**
     * The same place for an operation.
     *
     * @param described the operation with its arguments
     * @param position of the operation, or -1
     * @return the context
     */
    public FailureContext of(String described, long position) {
        return new FailureContext(group, rank, described, position, worldRanks);
    }

    /** Group, rank and operation; of a smaller group also which ranks of the world are in it. */
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
