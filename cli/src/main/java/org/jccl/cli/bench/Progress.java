package org.jccl.cli.bench;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * Prints the progress of a measurement to standard error. On a terminal, one line is overwritten.
 * Elsewhere it prints a line every ten seconds.
 */
final class Progress {

    private static final long LINE_NANOS = TimeUnit.SECONDS.toNanos(10);
    private static final String ERASED = "\r\033[K";

    private final PrintWriter err;
    private final boolean terminal;
    private final int sizes;
    private final LongSupplier clock;
    private final long began;
    private long lastLine;
    private int done;
    private boolean drawn;

    /**
     * Starts to count.
     *
     * @param err standard error
     * @param terminal whether standard error is a terminal
     * @param sizes the number of sizes; 0 for no output
     * @param clock nanoseconds
     */
    Progress(PrintWriter err, boolean terminal, int sizes, LongSupplier clock) {
        this.err = err;
        this.terminal = terminal;
        this.sizes = sizes;
        this.clock = clock;
        this.began = clock.getAsLong();
        this.lastLine = began;
    }

    static Progress none() {
        return new Progress(null, false, 0, () -> 0);
    }

    /** Whether standard error is a terminal; false if the system does not report it. */
    static boolean isTerminal() {
        try {
            String target = Files.readSymbolicLink(Path.of("/proc/self/fd/2")).toString();
            return target.startsWith("/dev/pts/") || target.startsWith("/dev/tty");
        } catch (IOException e) {
            return false;
        }
    }

    /** Counts a size that was measured and printed. */
    void sizeDone() {
        done++;
        if (done >= sizes) {
            clear();
        } else if (terminal) {
            draw();
        } else if (clock.getAsLong() - lastLine >= LINE_NANOS) {
            lastLine = clock.getAsLong();
            err.println(text());
            err.flush();
        }
    }

    /** Erases the line before other output. */
    void clear() {
        if (drawn) {
            err.print(ERASED);
            err.flush();
            drawn = false;
        }
    }

    /** Shows the line again after {@link #clear}. */
    void restore() {
        if (terminal && done > 0 && done < sizes) {
            draw();
        }
    }

    private void draw() {
        err.print(ERASED + text());
        err.flush();
        drawn = true;
    }

    private String text() {
        long left = (clock.getAsLong() - began) / done * (sizes - done);
        long seconds = Math.max(1, TimeUnit.NANOSECONDS.toSeconds(left));
        return "jccl bench: " + done + " of " + sizes + " sizes, about " + seconds + " s left";
    }
}
