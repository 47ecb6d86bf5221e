package org.jccl;

import java.time.Duration;
import java.util.Optional;

/**
 * How long an operation took.
 *
 * @param elapsed from passing it to the library until this rank noticed its end. On host backends
 *     this is the operation itself, including the wait for other ranks. On devices it begins with
 *     enqueueing, so it includes earlier commands of the stream, and ends up to a tenth of a second
 *     late unless a thread waits for the work
 * @param onDevice time between events of the device right before and after the operation, including
 *     the wait for other ranks; empty on the host, for synchronous calls on devices, and for
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
