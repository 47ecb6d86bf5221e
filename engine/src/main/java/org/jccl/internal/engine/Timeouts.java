package org.jccl.internal.engine;

import java.time.Duration;
import org.jccl.FailureContext;
import org.jccl.UsageException;
import org.jccl.spi.Durations;

/** Checks a user's timeouts, and turns them into nanoseconds. */
public final class Timeouts {

    private static final Duration MAX_TIMEOUT = Duration.ofDays(365);

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
        return System.nanoTime() + bounded(timeout).toNanos();
    }

    /** Returns the nanoseconds that an operation may take, at least 1. */
    public static long ofOperation(Duration timeout, FailureContext where) {
        if (timeout == null || timeout.isNegative() || timeout.isZero()) {
            throw new UsageException(
                    where,
                    timeout == null
                            ? "timeout is null"
                            : "timeout must be positive, got " + Durations.text(timeout));
        }
        return bounded(timeout).toNanos();
    }

    private static Duration bounded(Duration timeout) {
        return timeout.compareTo(MAX_TIMEOUT) < 0 ? timeout : MAX_TIMEOUT;
    }
}
