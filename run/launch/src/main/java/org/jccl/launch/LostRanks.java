package org.jccl.launch;

/** What a launcher does with the other ranks of its node when one fails. */
enum LostRanks {
    /** Stops them. */
    STOP_OTHERS,
    /** Lets them continue, without the lost one. */
    KEEP_OTHERS,
    /** Lets them continue, and starts the lost one again. */
    REPLACE
}
