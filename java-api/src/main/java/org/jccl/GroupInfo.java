package org.jccl;

import java.util.List;

/**
 * A process group on one backend, for a {@link GroupListener}. A group with several backends, such
 * as {@code cpu:gloo,cuda:nccl}, is reported once for each.
 *
 * @param name the name of the group, the same on all its ranks, for instance {@code world} or
 *     {@code world/0,2}
 * @param rank the rank of this process in the group, from 0
 * @param size number of ranks in the group
 * @param worldRanks the ranks of the members in the world, by rank in the group
 * @param backend the name of the backend in lower case, for instance {@code gloo}
 * @param device the device of the tensors
 */
public record GroupInfo(
        String name, int rank, int size, List<Integer> worldRanks, String backend, Device device) {

    /**
     * Checks the arguments.
     *
     * @param name the name of the group
     * @param rank the rank in it
     * @param size number of ranks
     * @param worldRanks the ranks of the members in the world; copied
     * @param backend the name of the backend
     * @param device the device of the tensors
     * @throws UsageException if an argument is null, or the rank is not in the group
     */
    public GroupInfo {
        UsageException.nonNull(name, "name");
        UsageException.nonNull(backend, "backend");
        UsageException.nonNull(device, "device");
        UsageException.nonNull(worldRanks, "worldRanks")
                .forEach(member -> UsageException.nonNull(member, "a rank of worldRanks"));
        worldRanks = List.copyOf(worldRanks);
        if (rank < 0 || rank >= size || worldRanks.size() != size) {
            throw new UsageException(
                    FailureContext.NONE,
                    "not a valid group: rank "
                            + rank
                            + " of "
                            + size
                            + ", world ranks "
                            + worldRanks);
        }
    }

    /**
     * Returns the rank of this process in the world.
     *
     * @return from 0
     */
    public int worldRank() {
        return worldRanks.get(rank);
    }
}
