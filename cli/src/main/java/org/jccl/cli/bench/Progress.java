package org.jccl.cli.bench;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * Says on standard error how far a measurement is. On a terminal that is one line which is written
 * over; elsewhere, where lines stay, one every ten seconds.
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
     * Begins.
     *
     * @param err standard error
     * @param terminal whether that is a terminal
     * @param sizes that will be measured; 0 to say nothing
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

    /** Whether standard error is a terminal, as far as this system tells. */
    static boolean isTerminal() {
        try {
            String target = Files.readSymbolicLink(Path.of("/proc/self/fd/2")).toString();
            return target.startsWith("/dev/pts/") || target.startsWith("/dev/tty");
        } catch (IOException e) {
            return false;
        }
    }

    /** Notes that a size was measured and its row printed. */
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

    /** Makes room for something else to be printed. */
    void clear() {
        if (drawn) {
            err.print(ERASED);
            err.flush();
            drawn = false;
        }
    }

    /** Shows the line again that had to be cleared. */
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
