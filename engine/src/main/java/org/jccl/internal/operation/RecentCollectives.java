package org.jccl.internal.operation;

import java.util.ArrayList;
import java.util.List;

/**
 * Numbers collectives and keeps the last ones, so that stuck ranks can compare what they issued
 * before. A rank may have passed the operation in which it differs, or have called it without an
 * end event. Does not allocate. Not thread-safe.
 */
public final class RecentCollectives {

    static final int KEPT = 32;

    private final Operation[] ring = new Operation[KEPT];
    private long issued;

    public RecentCollectives() {
        for (int i = 0; i < KEPT; i++) {
            ring[i] = new Operation();
        }
    }

    /** Gives a collective the next number. */
    public void add(Operation operation) {
        operation.sequence = issued;
        ring[slot(issued)].describeAs(operation);
        issued++;
    }

    /** Returns how many were numbered. */
    public long issued() {
        return issued;
    }

    /** Returns descriptions of the collectives before one, newest first. */
    public List<String> before(long sequence) {
        List<String> earlier = new ArrayList<>();
        long oldest = Math.max(0, issued - KEPT);
        for (long number = sequence - 1; number >= oldest; number--) {
            earlier.add(ring[slot(number)].describe());
        }
        return earlier;
    }

    private static int slot(long sequence) {
        return (int) (sequence % KEPT);
    }
}
