package org.jccl;

import org.jccl.internal.Given;

/**
 * Where a failure happened.
 *
 * @param group name of the process group, or an empty string when there is none yet
 * @param rank rank in that group, or -1 when it is not known yet
 * @param operation the operation with its arguments, for instance {@code allReduce(float32 x 4,
 *     SUM)}, or an empty string
 * @param sequence position of the operation among those issued on the group, starting at 0, or -1
 */
public record FailureContext(String group, int rank, String operation, long sequence) {

    /**
     * Checks the arguments.
     *
     * @param group name of the group
     * @param rank rank in that group
     * @param operation the operation
     * @param sequence its position
     * @throws UsageException when a text is null
     */
    public FailureContext {
        Given.notNull(group, "group");
        Given.notNull(operation, "operation");
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

    @Override
    public String toString() {
        StringBuilder text = new StringBuilder();
        if (!group.isEmpty()) {
            text.append("group '").append(group).append('\'');
        }
        if (rank >= 0) {
            text.append(text.isEmpty() ? "" : ", ").append("rank ").append(rank);
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
}
