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

    /** Deadline of an operation in tests that are not about deadlines. */
    Duration TIMEOUT = Duration.ofSeconds(30);

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
