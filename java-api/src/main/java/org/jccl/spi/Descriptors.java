package org.jccl.spi;

import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jccl.FailureContext;
import org.jccl.NativeException;

/**
 * Checks the number of free file descriptors of this process. Without a free one, lookups and
 * connections fail with misleading messages, so code that opens many must check first. Stateless
 * and thread-safe.
 */
public final class Descriptors {

    /** The error number for "Too many open files" (EMFILE). */
    private static final int TOO_MANY = 24;

    private static final Path LIMITS = Path.of("/proc/self/limits");
    private static final Path OPEN = Path.of("/proc/self/fd");
    private static final Pattern LIMIT = Pattern.compile("Max open files +(\\d+)");

    private Descriptors() {}

    /**
     * Checks that the process can open more files or connections. Does nothing if the system does
     * not report how many are open.
     *
     * @param needed the number of descriptors to open
     * @param what the subject of the sentence in the message, for instance {@code a group of 4
     *     ranks}
     * @throws NativeException if fewer are free; the message has the limit and the number of open
     *     ones
     */
    public static void require(int needed, String what) {
        try {
            Matcher limit = LIMIT.matcher(Files.readString(LIMITS));
            if (limit.find()) {
                require(needed, what, Long.parseLong(limit.group(1)), open());
            }
        } catch (NoSuchFileException | AccessDeniedException e) {
            return; // there is no /proc
        } catch (IOException | LinkageError e) {
            // A LinkageError if Java's own classes for files could not be loaded.
            throw tooMany(needed, what, "none is left");
        }
    }

    private static long open() throws IOException {
        try (Stream<Path> entries = Files.list(OPEN)) {
            return entries.count() - 1; // one is of the listing
        }
    }

    private static void require(int needed, String what, long limit, long open) {
        if (limit - open < needed) {
            throw tooMany(needed, what, open + " are open and the limit is " + limit);
        }
    }

    private static NativeException tooMany(int needed, String what, String why) {
        return new NativeException(
                FailureContext.NONE,
                "the operating system",
                TOO_MANY,
                "Too many open files: %s needs up to %s more file descriptors in this process, but %s; raise the limit of open files (ulimit -n), or close files that are no longer used"
                        .formatted(what, needed, why));
    }
}
