package org.jccl.testing;

import static org.jccl.testing.Patience.enough;

import java.time.Duration;
import org.jccl.Store;
import org.jccl.internal.group.WorldAgreement;

/** Ranks that come to the store, so that a world is made, and then do nothing. */
public final class AbsentRanks {

    private static final Duration TIMEOUT = enough(Duration.ofSeconds(30));

    private AbsentRanks() {}

    /**
     * Lets all ranks but one come.
     *
     * @param store shared by the ranks
     * @param rank the one that is really there
     * @param size number of ranks
     */
    public static void comeTo(Store store, int rank, int size) {
        for (int other = 0; other < size; other++) {
            if (other != rank) {
                WorldAgreement agreement = new WorldAgreement(store, other, size, false, TIMEOUT);
                Thread thread = new Thread(agreement::enter, "absent-rank-" + other);
                thread.setDaemon(true);
                thread.start();
            }
        }
    }
}
