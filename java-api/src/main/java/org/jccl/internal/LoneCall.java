package org.jccl.internal;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * The synchronous call of a thread that takes it back without the monitor of the running
 * operations. One thread at a time begins and ends; the others look on.
 */
final class LoneCall {

    private static final VarHandle COUNT;

    static {
        try {
            COUNT = MethodHandles.lookup().findVarHandle(LoneCall.class, "count", long.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    /** Twice the calls that have ended, and one more while a call is under way. */
    @SuppressWarnings("unused")
    private volatile long count;

    /**
     * The same object again and again: a write of another would cost a barrier of the collector.
     */
    private Operation operation;

    // What the watchdog saw, guarded by the monitor of the running operations.
    private long seenCount;
    private long seenNanos;

    /** Shows an operation that is filled. The caller is the thread that works alone. */
    void begin(Operation filled) {
        if (operation != filled) {
            operation = filled;
        }
        COUNT.setRelease(this, (long) COUNT.get(this) + 1);
    }

    /** Takes it back, so that it may be filled again. */
    void end() {
        COUNT.setRelease(this, (long) COUNT.get(this) + 1);
        // Who sees later writes to the operation must see that the call is over.
        VarHandle.storeStoreFence();
    }

    boolean isUnderWay() {
        return ((long) COUNT.getAcquire(this) & 1) != 0;
    }

    /**
     * What is under way, with the time at which this was asked first as its start. The caller has
     * the monitor.
     *
     * @return a copy, or null when nothing is under way
     */
    Operation look(long now) {
        long before = (long) COUNT.getAcquire(this);
        if ((before & 1) == 0) {
            return null;
        }
        Operation copy = new Operation();
        copy.describeAs(operation);
        copy.sequence = operation.sequence;
        VarHandle.acquireFence();
        if ((long) COUNT.getOpaque(this) != before) {
            return null; // it ended meanwhile, and the copy may be of no call at all
        }
        if (before != seenCount) {
            seenCount = before;
            seenNanos = now;
        }
        copy.startNanos = seenNanos;
        return copy;
    }
}
