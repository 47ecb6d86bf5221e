package org.jccl.spi;

/** The operations of a group. Their texts are the names of the methods. */
public enum OperationKind {
    /** Copies the root's elements to all ranks. */
    BROADCAST("broadcast", true),
    /** Reduces on all ranks. */
    ALL_REDUCE("allReduce", true),
    /** Reduces on the root. */
    REDUCE("reduce", true),
    /** Collects equal parts on all ranks. */
    ALL_GATHER("allGather", true),
    /** Collects parts of different sizes on all ranks. */
    ALL_GATHER_V("allGather", true),
    /** Collects equal parts on the root. */
    GATHER("gather", true),
    /** Distributes parts of the root. */
    SCATTER("scatter", true),
    /** Reduces, and distributes equal parts. */
    REDUCE_SCATTER("reduceScatter", true),
    /** Reduces, and distributes parts of different sizes. */
    REDUCE_SCATTER_V("reduceScatter", true),
    /** Exchanges equal parts between all ranks. */
    ALL_TO_ALL("allToAll", true),
    /** Exchanges parts of different sizes between all ranks. */
    ALL_TO_ALL_V("allToAll with splits", true),
    /** Waits for all ranks. */
    BARRIER("barrier", true),
    /** Sends to one peer. */
    SEND("send", false),
    /** Receives from one peer or any. */
    RECV("recv", false);

    private final String text;
    private final boolean collective;

    OperationKind(String text, boolean collective) {
        this.text = text;
        this.collective = collective;
    }

    /**
     * Returns whether all ranks of the group take part.
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
