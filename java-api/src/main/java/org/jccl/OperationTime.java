package org.jccl;

import java.time.Duration;
import java.util.Optional;

/**
 * How long an operation took.
 *
 * @param elapsed from handing it to the library until this rank noticed that it was over. On
 *     backends that work on the host that is the operation itself, with what it waited for other
 *     ranks. On devices it begins with enqueueing, so that it holds what ran on the stream before,
 *     and ends up to a tenth of a second late unless a thread waits for the work.
 * @param onDevice time between the device's own events right before and after the operation, with
 *     what it waited for other ranks; empty on the host, and on devices for synchronous calls and
 *     for what the device did not get through
 */
public record OperationTime(Duration elapsed, Optional<Duration> onDevice) {

    /**
     * Checks the arguments.
     *
     * @param elapsed as this rank saw it
     * @param onDevice as the device measured it
     * @throws UsageException when an argument is null
     */
    public OperationTime {
        Given.notNull(elapsed, "elapsed");
        Given.notNull(onDevice, "onDevice");
    }

    /**
     * The time to show where one is wanted.
     *
     * @return the device's where it is known, else the elapsed one
     */
    public Duration best() {
        return onDevice.orElse(elapsed);
    }
}
