package org.jccl.bootstrap;

import java.util.Optional;
import org.jccl.FailureContext;
import org.jccl.UsageException;

/**
 * The rank of this process in a job, and how to reach the store.
 *
 * @param source where the values come from, for instance {@code torchrun}
 * @param rank rank in the world, from 0
 * @param worldSize number of ranks
 * @param localRank rank among the processes of this host, or -1 if unknown
 * @param localWorldSize number of ranks on this host, or -1 if unknown
 * @param masterAddress host of the store, if the launcher names one
 * @param masterPort port of the store, if the launcher names one
 * @param storeIsHosted true if the launcher already serves the store, so that rank 0 must not
 * @param restarts how often the launcher has restarted the ranks; 0 at first, and if the launcher
 *     does not report it
 */
public record Membership(
        String source,
        int rank,
        int worldSize,
        int localRank,
        int localWorldSize,
        Optional<String> masterAddress,
        Optional<Integer> masterPort,
        boolean storeIsHosted,
        int restarts) {

    /**
     * The maximum number of ranks of a world: the values of all ranks must fit in one call of a
     * store.
     */
    public static final int MAX_RANKS = 131_072;

    /**
     * Checks that the rank is in the world.
     *
     * @param source where the values come from
     * @param rank rank in the world
     * @param worldSize number of ranks
     * @param localRank rank on this host, or -1
     * @param localWorldSize number of ranks on this host, or -1
     * @param masterAddress host of the store
     * @param masterPort port of the store
     * @param storeIsHosted whether the launcher serves the store
     * @param restarts how often the ranks were restarted
     * @throws UsageException if the rank does not exist, or the world has more than {@link
     *     #MAX_RANKS}
     */
    public Membership {
        if (worldSize > MAX_RANKS) {
            throw new UsageException(
                    FailureContext.NONE,
                    "world size %s, as given by %s, is more than %s, the largest world size"
                            .formatted(worldSize, source, MAX_RANKS));
        }
        if (worldSize < 1 || rank < 0 || rank >= worldSize) {
            throw new UsageException(
                    FailureContext.NONE,
                    "rank %s of world size %s, as given by %s, does not exist: ranks go from 0 to world size - 1"
                            .formatted(rank, worldSize, source));
        }
    }
}
