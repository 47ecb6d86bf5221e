package org.jccl;

import java.util.List;

/**
 * A process group on one backend, as a {@link GroupListener} is told of it. A group with several
 * backends, as {@code cpu:gloo,cuda:nccl} makes one, is reported once for each.
 *
 * @param name of the group, the same on all its ranks, for instance {@code world} or {@code
 *     world/0,2}
 * @param rank of this process in the group, from 0
 * @param size number of ranks in the group
 * @param worldRanks the members' ranks in the world, by rank in the group
 * @param backend name of the backend in lower case, for instance {@code gloo}
 * @param device where the tensors are that the backend works on
 */
public record GroupInfo(
        String name, int rank, int size, List<Integer> worldRanks, String backend, Device device) {

    /**
     * Checks the arguments.
     *
     * @param name of the group
     * @param rank in it
     * @param size number of ranks
     * @param worldRanks the members' ranks in the world; copied
     * @param backend name of the backend
     * @param device where the tensors are
     * @throws UsageException when an argument is null, or the rank is none of the group's
     */
    public GroupInfo {
        Given.notNull(name, "name");
        Given.notNull(backend, "backend");
        Given.notNull(device, "device");
        Given.notNull(worldRanks, "worldRanks")
                .forEach(member -> Given.notNull(member, "a rank of worldRanks"));
        worldRanks = List.copyOf(worldRanks);
        if (rank < 0 || rank >= size || worldRanks.size() != size) {
            throw new UsageException(
                    FailureContext.NONE,
                    "no group: rank " + rank + " of " + size + ", world ranks " + worldRanks);
        }
    }

    /**
     * Rank of this process in the world.
     *
     * @return from 0
     */
    public int worldRank() {
        return worldRanks.get(rank);
    }
}
