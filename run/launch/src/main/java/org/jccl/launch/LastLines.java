package org.jccl.launch;

import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jccl.UsageException;
import org.jccl.spi.PathSetting;

/**
 * The lines of a rank for the message about its failure: the last lines, and the first lines of an
 * exception, which a long stack trace would displace. If several exceptions follow each other
 * closely, the first one is kept. Thread-safe.
 */
final class LastLines {

    private static final int LAST = 20;

    /** The number of characters of a line that are kept. */
    private static final int MAX_CHARS = 2_000;

    /**
     * The first line of a stack trace in Java or Python, or the text of C++ for an uncaught
     * exception.
     */
    private static final Pattern EXCEPTION =
            Pattern.compile(
                    "Exception in thread \"|(\\w+\\.)+\\w*(Exception|Error)\\b"
                            + "|Traceback \\(most |terminate called ");

    private static final int EXCEPTION_LINES = 10;

    /** Lines with a location. Lines that describe the error are more useful. */
    private static final Pattern FRAME = Pattern.compile("\\s|frame #");

    private static final int MAX_FRAMES = 4;

    /** A line or exception within this many lines may belong to the first exception. */
    private static final int EXCEPTION_REACH = 200;

    /** The line about its report that a crashing JVM prints on standard output. */
    private static final Pattern CRASH_REPORT = Pattern.compile("#\\s+(\\S.*hs_err.*\\.log)\\s*");

    private final Deque<String> last = new ArrayDeque<>();
    private final List<String> exception = new ArrayList<>();
    private Optional<Path> crashReport = Optional.empty();
    private long exceptionAt;
    private int frames;
    private long count;

    synchronized void add(String whole) {
        String line = whole.length() > MAX_CHARS ? whole.substring(0, MAX_CHARS) + "..." : whole;
        Matcher report = CRASH_REPORT.matcher(line);
        if (report.matches()) {
            crashReport = path(report.group(1));
        }
        boolean near = !exception.isEmpty() && count - exceptionAt < EXCEPTION_REACH;
        if (!near && EXCEPTION.matcher(line).lookingAt()) {
            exceptionAt = count;
            frames = 0;
            exception.clear();
            exception.add(line);
        } else if (near && exception.size() < EXCEPTION_LINES) {
            boolean frame = FRAME.matcher(line).lookingAt();
            if (!frame || frames++ < MAX_FRAMES) {
                exception.add(line);
            }
        }
        if (last.size() == LAST) {
            last.removeFirst();
        }
        last.addLast(line);
        count++;
    }

    /**
     * Never throws for any line of a rank, because an exception would stop the reading of its
     * output.
     */
    private static Optional<Path> path(String printed) {
        try {
            return Optional.of(PathSetting.of("the crash report of a rank", printed));
        } catch (UsageException e) {
            return Optional.empty();
        }
    }

    /** Returns the lines of the exception, or the last lines if the exception begins among them. */
    synchronized List<String> all() {
        List<String> lines = new ArrayList<>();
        if (!exception.isEmpty() && exceptionAt < count - last.size()) {
            lines.addAll(exception);
            lines.add("...");
        }
        lines.addAll(last);
        return lines;
    }

    /** Returns the {@code hs_err} file that the lines name. */
    synchronized Optional<Path> crashReport() {
        return crashReport;
    }
}
