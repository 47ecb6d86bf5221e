package org.jccl.soak;

import java.util.List;
import org.jccl.JcclException;

/** An operation, or making a group, ended with an exception of the library. */
final class StepFailure extends Exception {

    private static final long serialVersionUID = 1L;

    private final transient List<Integer> ranks;
    private final JcclException failure;
    private final long nanos = System.nanoTime();

    StepFailure(List<Integer> ranks, String step, JcclException failure) {
        super(step, failure);
        this.ranks = ranks;
        this.failure = failure;
    }

    /** World ranks of the group it happened in. */
    List<Integer> ranks() {
        return ranks;
    }

    JcclException failure() {
        return failure;
    }

    /** When, on the clock that all processes of a host share. */
    long nanos() {
        return nanos;
    }
}
