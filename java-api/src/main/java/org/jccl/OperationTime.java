package org.jccl;

import java.time.Duration;
import java.util.Optional;

/**
 * How long an operation took.
 *
 * @param elapsed the time from the call of the library until this rank noticed the end of the
 *     operation. On host backends this is the operation itself, including the wait for other ranks.
 *     On devices it starts when the operation is enqueued, so it includes earlier commands of the
 *     stream. It is up to 0.1 s too long unless a thread waits for the work
 * @param onDevice the time between device events directly before and after the operation, including
 *     the wait for other ranks. Empty on the host, for synchronous calls on devices, and for
 *     operations that the device did not complete
 */
public record OperationTime(Duration elapsed, Optional<Duration> onDevice) {

    /**
     * Checks the arguments.
     *
     * @param elapsed as this rank measured it
     * @param onDevice as the device measured it
     * @throws UsageException if an argument is null
     */
    public OperationTime {
        UsageException.nonNull(elapsed, "elapsed");
        UsageException.nonNull(onDevice, "onDevice");
    }

    /**
     * Returns the most precise time.
     *
     * @return the time of the device if known, otherwise the elapsed time
     */
    public Duration best() {
        return onDevice.orElse(elapsed);
    }
}
