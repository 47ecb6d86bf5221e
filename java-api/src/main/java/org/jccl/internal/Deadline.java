package org.jccl.internal;

import java.time.Duration;
import org.jccl.FailureContext;
import org.jccl.UsageException;

/** Turns a user's timeout into a moment of {@link System#nanoTime()}. */
final class Deadline {

    private static final Duration LONGEST = Duration.ofDays(365);

    private Deadline() {}

    static long after(Duration timeout) {
        if (timeout == null || timeout.isNegative()) {
            throw new UsageException(
                    FailureContext.NONE, "timeout must not be negative, got " + timeout);
        }
        Duration bounded = timeout.compareTo(LONGEST) < 0 ? timeout : LONGEST;
        return System.nanoTime() + bounded.toNanos();
    }
}
