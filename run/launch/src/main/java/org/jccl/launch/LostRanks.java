package org.jccl.launch;

/** What a launcher does when a rank of its node fails. */
enum LostRanks {
    /** Stops the other ranks. */
    STOP_OTHERS,
    /** Lets the other ranks continue without the lost one. */
    KEEP_OTHERS,
    /** Lets the other ranks continue and restarts the lost one. */
    REPLACE
}
