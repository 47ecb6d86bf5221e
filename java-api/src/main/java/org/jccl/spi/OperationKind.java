package org.jccl.spi;

/** The operations of a group, by the names of their methods. */
public enum OperationKind {
    /** Root's elements to all. */
    BROADCAST("broadcast", true),
    /** Reduction to all. */
    ALL_REDUCE("allReduce", true),
    /** Reduction to the root. */
    REDUCE("reduce", true),
    /** Equal parts to all. */
    ALL_GATHER("allGather", true),
    /** Parts of different sizes to all. */
    ALL_GATHER_V("allGather", true),
    /** Parts to the root. */
    GATHER("gather", true),
    /** Parts from the root. */
    SCATTER("scatter", true),
    /** Reduction, equal parts of it to each. */
    REDUCE_SCATTER("reduceScatter", true),
    /** Reduction, parts of different sizes to each. */
    REDUCE_SCATTER_V("reduceScatter", true),
    /** Equal parts from each to each. */
    ALL_TO_ALL("allToAll", true),
    /** Parts of different sizes from each to each. */
    ALL_TO_ALL_V("allToAll with splits", true),
    /** All have arrived. */
    BARRIER("barrier", true),
    /** To one peer. */
    SEND("send", false),
    /** From one peer or any. */
    RECV("recv", false);

    private final String text;
    private final boolean collective;

    OperationKind(String text, boolean collective) {
        this.text = text;
        this.collective = collective;
    }

    /**
     * Whether all ranks of the group take part.
     *
     * @return false for send and recv
     */
    public boolean isCollective() {
        return collective;
    }

    @Override
    public String toString() {
        return text;
    }
}
