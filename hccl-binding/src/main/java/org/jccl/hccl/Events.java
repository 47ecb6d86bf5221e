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

    /** Waits so long, but before 8.5 to the end; whether the newest record is complete. */
    boolean awaitFor(long event, long millis);

    /** The same for a native event that was recorded. */
    static boolean awaitNative(long event, long millis) {
        int code = Acl.aclrtSynchronizeEventWithTimeout(event, (int) millis);
        if (code == Acl.NOT_SUPPORTED) {
            code = Acl.aclrtSynchronizeEvent(event);
        }
        if (code == Acl.EVENT_SYNC_TIMEOUT) {
            return false;
        }
        CannErrors.check(code, "aclrtSynchronizeEvent");
        return true;
    }

    double elapsedMillis(long start, long end);
}
