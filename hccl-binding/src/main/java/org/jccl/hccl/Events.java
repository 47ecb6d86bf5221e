package org.jccl.hccl;

import java.util.concurrent.locks.StampedLock;

/**
 * Events of {@code aclrtCreateEventExWithFlag}: each record overwrites the one before, and waits
 * that were enqueued before keep theirs.
 *
 * <p>Recording blocks while the stream's queue is full, and must not overlap with a query of the
 * same event on another thread.
 */
final class Events {

    /** Many, because an event that shares the lock of one being recorded counts as incomplete. */
    private static final int LOCKS = 1024;

    /** Handles are aligned, so their lowest bits are always 0. */
    private static final int ALIGNMENT_BITS = 4;

    private final ThreadScratch scratch;

    /**
     * Recording excludes queries; queries share the lock. A map would make garbage in each call.
     */
    private final StampedLock[] locks = new StampedLock[LOCKS];

    Events(ThreadScratch scratch) {
        this.scratch = scratch;
        for (int i = 0; i < LOCKS; i++) {
            locks[i] = new StampedLock();
        }
    }

    private StampedLock lock(long event) {
        long bits = event >>> ALIGNMENT_BITS;
        return locks[(int) (bits ^ bits >>> 10) & LOCKS - 1];
    }

    long create(boolean timing) {
        long out = scratch.address();
        int flags = timing ? Acl.EVENT_SYNC | Acl.EVENT_TIME_LINE : Acl.EVENT_SYNC;
        CannErrors.check(Acl.aclrtCreateEventExWithFlag(out, flags), "aclrtCreateEventExWithFlag");
        return scratch.getLong();
    }

    void destroy(long event) {
        CannErrors.check(Acl.aclrtDestroyEvent(event), "aclrtDestroyEvent");
    }

    void record(long event, long stream) {
        StampedLock lock = lock(event);
        long stamp = lock.writeLock();
        try {
            CannErrors.check(Acl.aclrtRecordEvent(event, stream), "aclrtRecordEvent");
        } finally {
            lock.unlockWrite(stamp);
        }
    }

    /** Makes a stream wait for the newest record. */
    void await(long stream, long event) {
        CannErrors.check(Acl.aclrtStreamWaitEvent(stream, event), "aclrtStreamWaitEvent");
    }

    /** Returns whether the newest record is complete; never blocks. */
    boolean query(long event) {
        StampedLock lock = lock(event);
        long stamp = lock.tryReadLock();
        if (stamp == 0) {
            // Perhaps this one is being recorded, in which case it is not complete.
            return false;
        }
        try {
            CannErrors.check(
                    Acl.aclrtQueryEventStatus(event, scratch.address()), "aclrtQueryEventStatus");
            return scratch.getInt() == Acl.EVENT_RECORDED_COMPLETE;
        } finally {
            lock.unlockRead(stamp);
        }
    }

    void synchronize(long event) {
        CannErrors.check(Acl.aclrtSynchronizeEvent(event), "aclrtSynchronizeEvent");
    }

    /**
     * Waits for the newest record and returns whether it is complete. CANN before 8.5 has no limit.
     */
    boolean awaitFor(long event, long millis) {
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

    double elapsedMillis(long start, long end) {
        CannErrors.check(
                Acl.aclrtEventElapsedTime(scratch.address(), start, end), "aclrtEventElapsedTime");
        return scratch.getFloat();
    }
}
