package org.jccl.hccl;

/** Events as the engine wants them: recorded, waited for and recorded again. */
sealed interface Events permits ReusableEvents, OneShotEvents {

    /** A handle for an event of the current device; with {@code timing} two can be compared. */
    long create(boolean timing);

    void destroy(long event);

    void record(long event, long stream);

    /** Makes a stream wait for the newest record. */
    void await(long stream, long event);

    /** Whether the newest record is complete; never blocks. */
    boolean query(long event);

    void synchronize(long event);

    double elapsedMillis(long start, long end);
}
