package org.jccl.launch;

import java.util.ArrayList;
import java.util.List;

/**
 * One of the ranks that a node starts. The ranks of a role follow each other, over all nodes.
 *
 * @param role the role of the rank
 * @param rank rank in the world
 * @param localRank rank on this node
 * @param roleRank rank among all ranks of its role
 * @param roleWorldSize number of ranks of its role
 */
record RankPlacement(LaunchRole role, int rank, int localRank, int roleRank, int roleWorldSize) {

    static List<RankPlacement> of(List<LaunchRole> roles, int nodes, int nodeRank) {
        List<RankPlacement> placements = new ArrayList<>();
        int firstOfRole = 0;
        for (LaunchRole role : roles) {
            for (int i = 0; i < role.ranks(); i++) {
                int roleRank = nodeRank * role.ranks() + i;
                placements.add(
                        new RankPlacement(
                                role,
                                firstOfRole + roleRank,
                                placements.size(),
                                roleRank,
                                nodes * role.ranks()));
            }
            firstOfRole += nodes * role.ranks();
        }
        return placements;
    }
}
