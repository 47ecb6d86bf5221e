package org.jccl.spi;

import java.time.Duration;

/**
 * The end of a wait of several steps, so that no step takes the whole timeout again. Thread-safe.
 */
public final class Deadline {

    /** Longer waits would overflow the arithmetic of {@code nanoTime}. */
    private static final Duration MAX = Duration.ofDays(36_500);

    private final long end;

    private Deadline(long end) {
        this.end = end;
    }

    /**
     * Returns the deadline of a timeout that starts now.
     *
     * @param timeout the limit of the wait; more than a hundred years counts as a hundred years
     * @return the deadline
     */
    public static Deadline after(Duration timeout) {
        Duration bounded = timeout.compareTo(MAX) > 0 ? MAX : timeout;
        return new Deadline(System.nanoTime() + bounded.toNanos());
    }

    /**
     * Returns the deadline of a wait without one.
     *
     * @return a deadline in a hundred years
     */
    public static Deadline none() {
        return after(MAX);
    }

    /**
     * Returns the time left.
     *
     * @return the nanoseconds, or 0 if the deadline has passed
     */
    public long nanosLeft() {
        return Math.max(0, end - System.nanoTime());
    }

    /**
     * Returns the time left.
     *
     * @return the time, or zero if the deadline has passed
     */
    public Duration left() {
        return Duration.ofNanos(nanosLeft());
    }

    /**
     * Returns the time for one step.
     *
     * @param most the maximum time of the step
     * @return {@code most}, or the time left if that is less
     */
    public Duration atMost(Duration most) {
        Duration left = left();
        return left.compareTo(most) < 0 ? left : most;
    }

    /**
     * Returns whether the time is over.
     *
     * @return true if nothing is left
     */
    public boolean hasPassed() {
        return nanosLeft() == 0;
    }

    /**
     * A wait that an interrupt ends, for instance {@code Future.get}.
     *
     * @param <T> its result
     */
    @FunctionalInterface
    public interface Wait<T> {

        /**
         * Waits.
         *
         * @param nanos the maximum time in nanoseconds
         * @return the result
         * @throws InterruptedException if the thread was interrupted
         */
        T await(long nanos) throws InterruptedException;
    }

    /**
     * Waits until the deadline. An interrupt does not end the wait; the flag stays set.
     *
     * @param <T> the result
     * @param wait called again after each interrupt. It must therefore return at once if its
     *     condition has become true meanwhile, as for a future, a thread's end or a lock, but not
     *     for a notification
     * @return its result
     */
    public <T> T await(Wait<T> wait) {
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return wait.await(nanosLeft());
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /**
     * Sleeps for a time, but not beyond the deadline. An interrupt does not end the sleep; the flag
     * stays set.
     *
     * @param pause the time to sleep
     */
    public void pause(Duration pause) {
        Polling.sleep(atMost(pause));
    }
}
