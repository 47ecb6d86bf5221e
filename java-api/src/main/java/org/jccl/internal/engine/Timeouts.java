package org.jccl.internal.engine;

import java.time.Duration;
import org.jccl.FailureContext;
import org.jccl.UsageException;
import org.jccl.spi.Durations;

/** Turns a user's timeout into a moment of {@link System#nanoTime()}. */
public final class Timeouts {

    private static final Duration LONGEST = Duration.ofDays(365);

    private Timeouts() {}

    public static long deadline(Duration timeout) {
        if (timeout == null) {
            throw new UsageException(FailureContext.NONE, "timeout is null");
        }
        if (timeout.isNegative()) {
            throw new UsageException(
                    FailureContext.NONE,
                    "timeout must not be negative, got " + Durations.text(timeout));
        }
        Duration bounded = timeout.compareTo(LONGEST) < 0 ? timeout : LONGEST;
        return System.nanoTime() + bounded.toNanos();
    }
}
