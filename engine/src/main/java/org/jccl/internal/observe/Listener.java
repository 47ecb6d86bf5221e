package org.jccl.internal.observe;

import java.time.Duration;
import org.jccl.FailureContext;
import org.jccl.GroupListener;
import org.jccl.UsageException;

/**
 * A listener of the program.
 *
 * @param called the listener
 * @param stallNanos the time after which an operation counts as stalled
 */
public record Listener(GroupListener called, long stallNanos) {

    private static final Duration MAX = Duration.ofDays(365);

    /**
     * Reads the settings of a listener.
     *
     * @throws UsageException if its threshold is out of range
     */
    public static Listener of(GroupListener listener) {
        Duration threshold = listener.stallThreshold();
        if (threshold == null
                || threshold.isNegative()
                || threshold.isZero()
                || threshold.compareTo(MAX) > 0) {
            throw new UsageException(
                    FailureContext.NONE,
                    "stallThreshold() of a listener must be positive and at most a year, got "
                            + threshold);
        }
        return new Listener(listener, threshold.toNanos());
    }

    /** Names the class, because the own method of a listener may throw. */
    @Override
    public String toString() {
        return "listener " + called.getClass().getName();
    }
}
