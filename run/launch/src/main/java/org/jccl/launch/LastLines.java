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
 * exception, which a long stack trace would displace. Of several exceptions in close succession,
 * the first one counts. Safe for use by several threads.
 */
final class LastLines {

    private static final int LAST = 20;

    /** How much of a line is remembered. */
    private static final int MAX_CHARS = 2_000;

    /** How stack traces of Java and Python begin, and what C++ says of an uncaught exception. */
    private static final Pattern EXCEPTION =
            Pattern.compile(
                    "Exception in thread \"|(\\w+\\.)+\\w*(Exception|Error)\\b"
                            + "|Traceback \\(most |terminate called ");

    private static final int EXCEPTION_LINES = 10;

    /** Lines that say where; those that say what are worth more. */
    private static final Pattern FRAME = Pattern.compile("\\s|frame #");

    private static final int MAX_FRAMES = 4;

    /** A line, or another exception, that comes so soon may belong to the exception. */
    private static final int EXCEPTION_REACH = 200;

    /** What a crashing JVM prints, on standard output, about its report. */
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

    /** Whatever a rank prints, an exception here would end the reading of its output. */
    private static Optional<Path> path(String printed) {
        try {
            return Optional.of(PathSetting.of("the crash report of a rank", printed));
        } catch (UsageException e) {
            return Optional.empty();
        }
    }

    /** The lines of the exception, unless it begins among the last lines; then the last lines. */
    synchronized List<String> all() {
        List<String> lines = new ArrayList<>();
        if (!exception.isEmpty() && exceptionAt < count - last.size()) {
            lines.addAll(exception);
            lines.add("...");
        }
        lines.addAll(last);
        return lines;
    }

    /** The {@code hs_err} file that the lines name. */
    synchronized Optional<Path> crashReport() {
        return crashReport;
    }
}
