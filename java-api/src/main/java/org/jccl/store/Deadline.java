package org.jccl.store;

import java.time.Duration;
import java.util.concurrent.locks.LockSupport;

/** A moment until which a call may wait. Waits that are interrupted go on; the flag stays set. */
final class Deadline {

    /** Longer waits than this would overflow the clock's arithmetic. */
    private static final Duration LONGEST = Duration.ofDays(36_500);

    private final long end;

    private Deadline(long end) {
        this.end = end;
    }

    static Deadline after(Duration timeout) {
        Duration bounded = timeout.compareTo(LONGEST) > 0 ? LONGEST : timeout;
        return new Deadline(System.nanoTime() + bounded.toNanos());
    }

    /** Nanoseconds left, 0 when the moment has passed. */
    long nanosLeft() {
        return Math.max(0, end - System.nanoTime());
    }

    boolean hasPassed() {
        return nanosLeft() == 0;
    }

    Duration left() {
        return Duration.ofNanos(nanosLeft());
    }

    /** Sleeps for a while, but not beyond the deadline. */
    void pause(Duration pause) {
        long until = System.nanoTime() + Math.min(nanosLeft(), pause.toNanos());
        boolean interrupted = false;
        for (long left = until - System.nanoTime(); left > 0; left = until - System.nanoTime()) {
            LockSupport.parkNanos(left);
            interrupted |= Thread.interrupted();
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
