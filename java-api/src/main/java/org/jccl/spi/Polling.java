package org.jccl.spi;

import java.time.Duration;
import java.util.concurrent.locks.LockSupport;

/**
 * Pauses between the polls of a wait. The wait spins at first, because most waits are short. Then
 * it sleeps between polls: for 20 us, and for 0.3 us more each time, up to 500 us after 0.4 s. So a
 * short wait ends with little delay, and a long wait leaves the processor to other threads.
 * Thread-safe.
 *
 * <pre>{@code
 * for (long polls = 0; !isDone(); polls++) {
 *     Polling.pause(polls, 200);
 * }
 * }</pre>
 */
public final class Polling {

    private static final long MIN_NANOS = 20_000;
    private static final long STEP_NANOS = 300;
    private static final long MAX_NANOS = 500_000;

    private Polling() {}

    /**
     * Pauses until the next poll. An interrupt does not shorten the pause; the flag stays set.
     *
     * @param polls number of earlier pauses in this wait
     * @param spins number of pauses that do not sleep
     */
    public static void pause(long polls, int spins) {
        if (polls < spins) {
            Thread.onSpinWait();
        } else {
            sleep(sleepNanos(polls - spins));
        }
    }

    /**
     * Sleeps. An interrupt does not end the sleep; the flag stays set. Use it instead of {@link
     * LockSupport#parkNanos}, which returns at once while the flag is set, so that a loop spins.
     *
     * @param pause the time to sleep; returns at once if it is not positive
     */
    public static void sleep(Duration pause) {
        sleep(pause.toNanos());
    }

    private static void sleep(long nanos) {
        long until = System.nanoTime() + nanos;
        boolean interrupted = false;
        for (long left = nanos; left > 0; left = until - System.nanoTime()) {
            LockSupport.parkNanos(left);
            interrupted |= Thread.interrupted();
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    static long sleepNanos(long sleeps) {
        return Math.min(MIN_NANOS + STEP_NANOS * Math.min(sleeps, MAX_NANOS), MAX_NANOS);
    }
}
