package org.jccl.internal.observe;

import java.time.Duration;
import org.jccl.FailureContext;
import org.jccl.GroupListener;
import org.jccl.UsageException;

/**
 * A program's listener.
 *
 * @param called by the thread of listeners
 * @param stallNanos from when on an operation counts as stalled for it
 */
public record Listener(GroupListener called, long stallNanos) {

    private static final Duration LONGEST = Duration.ofDays(365);

    /**
     * Asks a listener what it wants.
     *
     * @param given the program's
     * @return what is kept of it
     * @throws UsageException if its threshold is none
     */
    public static Listener of(GroupListener given) {
        Duration threshold = given.stallThreshold();
        if (threshold == null
                || threshold.isNegative()
                || threshold.isZero()
                || threshold.compareTo(LONGEST) > 0) {
            throw new UsageException(
                    FailureContext.NONE,
                    "stallThreshold() of a listener must be positive and at most a year, got "
                            + threshold);
        }
        return new Listener(given, threshold.toNanos());
    }

    /** Its class: what it says of itself may throw. */
    @Override
    public String toString() {
        return "listener " + called.getClass().getName();
    }
}
