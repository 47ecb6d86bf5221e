package org.jccl.conformance;

import java.time.Duration;

/**
 * Runs a test body on several ranks. Bodies share nothing but their group and store, so that ranks
 * may as well be processes.
 */
public interface Ranks {

    /** What each rank does. */
    interface Body {
        /**
         * Runs on one rank.
         *
         * @param rank this rank
         * @throws Exception fails the test
         */
        void run(Rank rank) throws Exception;
    }

    /**
     * How many times slower than usual the host is: the system property {@code
     * org.jccl.conformance.slowness}, 1 when it is not set. Whatever ranks wait for one another is
     * multiplied by it, for emulated processors and for sanitizers.
     */
    int SLOWNESS = Integer.getInteger("org.jccl.conformance.slowness", 1);

    /** Deadline of an operation in tests that are not about deadlines. */
    Duration TIMEOUT = onThisHost(30);

    /**
     * How long to wait on this host.
     *
     * @param seconds enough on a host that is not slow
     * @return that many times its slowness
     */
    static Duration onThisHost(int seconds) {
        return Duration.ofSeconds(seconds).multipliedBy(SLOWNESS);
    }

    /**
     * Runs a body on all ranks of a new world and returns when all are done.
     *
     * @param size number of ranks
     * @param timeout deadline of each operation
     * @param body what each rank does; its group is closed afterwards
     */
    void run(int size, Duration timeout, Body body);

    /**
     * Runs a body with the ordinary deadline.
     *
     * @param size number of ranks
     * @param body what each rank does
     */
    default void run(int size, Body body) {
        run(size, TIMEOUT, body);
    }
}
