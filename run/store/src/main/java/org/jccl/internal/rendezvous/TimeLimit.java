package org.jccl.internal.rendezvous;

import java.time.Duration;
import java.util.Optional;

/** A time limit that starts now, possibly infinite. */
public final class TimeLimit {

    private final Optional<Duration> allowed;
    private final long start = System.nanoTime();

    private TimeLimit(Optional<Duration> allowed) {
        this.allowed = allowed;
    }

    public static TimeLimit in(Duration duration) {
        return new TimeLimit(Optional.of(duration));
    }

    public static TimeLimit in(Optional<Duration> duration) {
        return new TimeLimit(duration);
    }

    /** Returns the remaining time, or {@code most} if that is less. */
    public Duration atMost(Duration most) {
        return left().filter(left -> left.compareTo(most) < 0).orElse(most);
    }

    public boolean isOver() {
        return left().filter(Duration::isZero).isPresent();
    }

    private Optional<Duration> left() {
        return allowed.map(time -> time.minusNanos(System.nanoTime() - start))
                .map(left -> left.isNegative() ? Duration.ZERO : left);
    }
}
