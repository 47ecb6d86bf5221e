package org.jccl.conformance;

/** A family of cases. */
abstract class Cases {

    /** Counts that are no multiples of anything, the empty tensor included. */
    static final int[] COUNTS = {0, 1, 3, 17, 1000};

    /** Elements of a tensor that is larger than socket and segment buffers. */
    static final int LARGE = 300_007;

    abstract ConformanceBackend backend();

    void onRanks(int size, Ranks.Body body) {
        backend().ranks().run(size, body);
    }
}
