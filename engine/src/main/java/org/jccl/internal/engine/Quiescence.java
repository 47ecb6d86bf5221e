package org.jccl.internal.engine;

import java.time.Duration;
import org.jccl.internal.operation.RunningOperations;

/** Waits until nothing of a group runs any more. */
final class Quiescence {

    private static final long POLL_MILLIS = 2;

    private Quiescence() {}

    /**
     * Returns true when nothing runs, or false when nothing has ended for a grace period. A healthy
     * group waits longer for operations that must end: they have their own deadline.
     */
    static boolean await(Engine engine, Duration gracePeriod) {
        RunningOperations running = engine.running;
        long deadline = System.nanoTime() + gracePeriod.toNanos();
        int fewest = Integer.MAX_VALUE;
        boolean interrupted = false;
        try {
            while (true) {
                engine.completeUnawaited();
                int left = running.count();
                if (left == 0 && isStillIdle(engine)) {
                    return true;
                }
                if (left < fewest) {
                    // An operation that ended shows that the other side is alive.
                    fewest = left;
                    deadline = System.nanoTime() + gracePeriod.toNanos();
                }
                boolean waitsForMore = running.hasWhatMustEnd() && !engine.failure.isSet();
                if (!waitsForMore && deadline - System.nanoTime() <= 0) {
                    return false;
                }
                try {
                    // Requests and events complete silently, so they are polled.
                    running.awaitEnd(POLL_MILLIS);
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

    /** Checks again for works that the last threads left behind when they left the library. */
    private static boolean isStillIdle(Engine engine) {
        engine.completeUnawaited();
        return engine.running.isEmpty();
    }
}
