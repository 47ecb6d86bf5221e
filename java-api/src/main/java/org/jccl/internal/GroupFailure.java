package org.jccl.internal;

import java.util.concurrent.atomic.AtomicReference;
import org.jccl.FailureContext;
import org.jccl.GroupAbortedException;
import org.jccl.JcclException;

/** The first failure of a group, after which it can not be used. */
final class GroupFailure {

    private final AtomicReference<JcclException> first = new AtomicReference<>();

    /** Notes a failure and returns the first one, which is another when there was one before. */
    JcclException set(JcclException failure) {
        first.compareAndSet(null, failure);
        return first.get();
    }

    JcclException get() {
        return first.get();
    }

    boolean isSet() {
        return first.get() != null;
    }

    /** What a call on a failed group throws. */
    JcclException forLaterCall(FailureContext context) {
        JcclException cause = first.get();
        return new GroupAbortedException(
                context,
                "the group failed before ("
                        + cause.getMessage()
                        + "); close it and build a new one on every rank",
                cause);
    }
}
