package org.jccl.soak;

import java.util.List;
import java.util.Optional;
import org.jccl.ProcessGroup;

/** A group as every rank of the world knows it; two of the same ranks are not equal. */
final class Member {

    private final List<Integer> ranks;
    private final Optional<ProcessGroup> group;
    private final Member parent;

    Member(List<Integer> ranks, Optional<ProcessGroup> group, Member parent) {
        this.ranks = ranks;
        this.group = group;
        this.parent = parent;
    }

    /** Ranks of the world that are in it, by rank in the group. */
    List<Integer> ranks() {
        return ranks;
    }

    /** Empty on ranks that are not in it. */
    Optional<ProcessGroup> group() {
        return group;
    }

    /** The group it was made from; null for the world. */
    Member parent() {
        return parent;
    }
}
