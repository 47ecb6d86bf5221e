package org.jccl.store;

import java.time.Duration;
import org.jccl.spi.Polling;

/** A deadline of a call. Interrupts do not end a wait; the interrupt flag stays set. */
final class Deadline {

    /** Maximum wait; longer ones would overflow {@code nanoTime} arithmetic. */
    private static final Duration LONGEST = Duration.ofDays(36_500);

    private final long end;

    private Deadline(long end) {
        this.end = end;
    }

    static Deadline after(Duration timeout) {
        Duration bounded = timeout.compareTo(LONGEST) > 0 ? LONGEST : timeout;
        return new Deadline(System.nanoTime() + bounded.toNanos());
    }

    /** Returns the nanoseconds left, or 0 if the deadline has passed. */
    long nanosLeft() {
        return Math.max(0, end - System.nanoTime());
    }

    boolean hasPassed() {
        return nanosLeft() == 0;
    }

    Duration left() {
        return Duration.ofNanos(nanosLeft());
    }

    /** Sleeps for a time, but not beyond the deadline. */
    void pause(Duration pause) {
        Duration left = left();
        Polling.sleep(pause.compareTo(left) < 0 ? pause : left);
    }
}
