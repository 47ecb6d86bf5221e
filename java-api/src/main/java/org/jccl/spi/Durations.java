package org.jccl.spi;

import java.time.Duration;
import java.util.concurrent.TimeUnit;

/** Formats durations for messages. */
public final class Durations {

    /**
     * Longer durations are shown in seconds. Very long ones would not fit a long as milliseconds.
     */
    private static final long MAX_SECONDS_WITH_MILLIS = TimeUnit.DAYS.toSeconds(1);

    private static final long ROUNDED_SECONDS = 5;

    private Durations() {}

    /**
     * Formats a duration.
     *
     * @param duration any, or null
     * @return for instance {@code 300 s}, {@code 250 ms} or, below a millisecond, {@code 5000 ns}
     */
    public static String text(Duration duration) {
        if (duration == null) {
            return "null";
        }
        if (duration.getNano() == 0 || Math.abs(duration.getSeconds()) >= MAX_SECONDS_WITH_MILLIS) {
            return duration.getSeconds() + " s";
        }
        long millis = duration.toMillis();
        return millis == 0 ? duration.toNanos() + " ns" : millis + " ms";
    }

    /**
     * Formats the remainder of a timeout after the first steps, so that it resembles the round
     * number that the user set.
     *
     * @param left positive
     * @return the text of the duration, rounded up: to seconds from 5 s on, otherwise to tenths of
     *     a second
     */
    public static String rounded(Duration left) {
        long step = left.getSeconds() >= ROUNDED_SECONDS ? 1000 : 100;
        return text(Duration.ofMillis((left.toMillis() + step - 1) / step * step));
    }
}
