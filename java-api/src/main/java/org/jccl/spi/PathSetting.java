package org.jccl.spi;

import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import org.jccl.FailureContext;
import org.jccl.UsageException;

/**
 * Creates paths from environment variables, system properties and options. Java cannot represent
 * every path of the system: with {@code LC_ALL=C} it knows ASCII only.
 *
 * <p>Stateless and thread-safe.
 */
public final class PathSetting {

    private PathSetting() {}

    /**
     * Creates a path from the value of a setting. Does not access the file system.
     *
     * @param setting the source of the path, for the message, for instance {@code environment
     *     variable X}
     * @param value the value of the setting
     * @param below names that are appended
     * @return the path
     * @throws UsageException if this process cannot represent the path; the message names the
     *     setting and the remedy
     */
    public static Path of(String setting, String value, String... below) {
        try {
            return Path.of(value, below);
        } catch (InvalidPathException e) {
            throw new UsageException(
                    FailureContext.NONE,
                    setting + " is '" + value + "', which cannot be a path: " + reason(e),
                    e);
        }
    }

    private static String reason(InvalidPathException thrown) {
        String encoding = System.getProperty("sun.jnu.encoding", "UTF-8");
        return encoding.equals("UTF-8")
                ? thrown.getReason()
                : thrown.getReason()
                        + ". Java reads and writes paths in "
                        + encoding
                        + " here; start it with LC_ALL=C.UTF-8 in its environment";
    }
}
