package org.jccl.store;

import java.util.Comparator;

/**
 * The number of an attempt of a proposer of {@link Paxos}. No two attempts have the same one.
 *
 * @param round larger ones win
 * @param proposer a random number of the proposer, which decides between equal rounds
 */
record Ballot(long round, long proposer) implements Comparable<Ballot> {

    /** Before any attempt. */
    static final Ballot NONE = new Ballot(0, 0);

    private static final Comparator<Ballot> ORDER =
            Comparator.comparingLong(Ballot::round).thenComparingLong(Ballot::proposer);

    @Override
    public int compareTo(Ballot other) {
        return ORDER.compare(this, other);
    }
}
