package org.jccl.hccl;

/** Events in the form that the engine needs: an event may be recorded again. */
sealed interface Events permits ReusableEvents, OneShotEvents {

    /** Creates an event of the current device; two events with {@code timing} can be compared. */
    long create(boolean timing);

    void destroy(long event);

    void record(long event, long stream);

    /** Makes a stream wait for the newest record. */
    void await(long stream, long event);

    /** Whether the newest record is complete; never blocks. */
    boolean query(long event);

    void synchronize(long event);

    /**
     * Waits for the newest record and returns whether it is complete. CANN before 8.5 has no limit.
     */
    boolean awaitFor(long event, long millis);

    /** Implements {@link #awaitFor} for a native event that was recorded. */
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
