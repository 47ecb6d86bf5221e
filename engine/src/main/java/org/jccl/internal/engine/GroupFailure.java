package org.jccl.internal.engine;

import java.util.concurrent.atomic.AtomicReference;
import org.jccl.FailureContext;
import org.jccl.GroupAbortedException;
import org.jccl.JcclException;

/** The first failure of a group, after which it is unusable. */
public final class GroupFailure {

    private static final Runnable NOTHING = () -> {};

    /** A failure, and when it happened. */
    private record First(JcclException cause, long nanos) {}

    private final AtomicReference<First> first = new AtomicReference<>();
    private volatile Runnable library = NOTHING;
    private volatile boolean closed;
    private volatile boolean replaced;
    private volatile boolean succeeded;

    /** Notes a failure and returns the first one, which is another when there was one before. */
    JcclException set(JcclException failure) {
        first.compareAndSet(null, new First(failure, System.nanoTime()));
        return get();
    }

    /** Returns the first failure, or null. */
    public JcclException get() {
        First known = first.get();
        return known == null ? null : known.cause;
    }

    /**
     * Returns whether so much time has passed since the first failure. All that a failed group
     * still waits for has one deadline, which begins there.
     */
    public boolean isOlderThan(long nanos) {
        First known = first.get();
        return known != null && System.nanoTime() - known.nanos >= nanos;
    }

    public boolean isSet() {
        return first.get() != null;
    }

    /** Sets how to poll the library for asynchronous errors, until the group is closed. */
    public void pollWith(Runnable ask) {
        library = ask;
    }

    /** Polls the library, which sets the failure if there is an asynchronous error. */
    public void pollAsyncError() {
        if (!isSet()) {
            library.run();
        }
    }

    /** Nothing of the group runs any more, or what does is left behind. */
    public void close() {
        succeeded = !isSet();
        closed = true;
        library = NOTHING;
    }

    /** The program continues with another group after a failure. */
    public void replace() {
        replaced = true;
    }

    /** Whether a program that knows of the failure need not get it again. */
    public boolean isOver() {
        return closed || replaced;
    }

    /** Whether the group was closed without a failure. */
    public boolean hasSucceeded() {
        return succeeded;
    }

    /** What a call on a failed group throws. */
    public JcclException forLaterCall(FailureContext context) {
        JcclException cause = get();
        return new GroupAbortedException(
                context,
                "the group failed before ("
                        + cause.getMessage()
                        + "); close it and build a new one on every rank",
                cause);
    }
}
