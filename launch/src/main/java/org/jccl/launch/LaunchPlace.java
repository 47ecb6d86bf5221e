package org.jccl.launch;

import java.util.ArrayList;
import java.util.List;

/**
 * One of the ranks that a node starts. The ranks of a role follow each other, over all nodes.
 *
 * @param role what it runs
 * @param rank rank in the world
 * @param localRank rank on this node
 * @param roleRank rank among all of its role
 * @param roleWorldSize number of ranks of its role
 */
record LaunchPlace(LaunchRole role, int rank, int localRank, int roleRank, int roleWorldSize) {

    static List<LaunchPlace> of(List<LaunchRole> roles, int nodes, int nodeRank) {
        List<LaunchPlace> places = new ArrayList<>();
        int firstOfRole = 0;
        for (LaunchRole role : roles) {
            for (int i = 0; i < role.ranks(); i++) {
                int roleRank = nodeRank * role.ranks() + i;
                places.add(
                        new LaunchPlace(
                                role,
                                firstOfRole + roleRank,
                                places.size(),
                                roleRank,
                                nodes * role.ranks()));
            }
            firstOfRole += nodes * role.ranks();
        }
        return places;
    }
}
