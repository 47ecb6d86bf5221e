package org.jccl.store;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;

/**
 * Holds the {@code flock(2)} lock of a file, through the {@code flock} command. The locks that Java
 * itself can take are another kind ({@code fcntl}), which PyTorch's {@code flock} does not see. The
 * command runs {@code cat} under the lock; closing its input ends both, and so does the end of this
 * JVM.
 */
final class FileLock implements AutoCloseable {

    private static final long LONGEST_SECONDS = TimeUnit.DAYS.toSeconds(365);

    private final Process command;

    private FileLock(Process command) {
        this.command = command;
    }

    /** Waits for the exclusive lock of a file, which is created when missing. */
    static FileLock acquire(Path file, Deadline deadline) {
        long seconds = 1 + TimeUnit.NANOSECONDS.toSeconds(deadline.nanosLeft());
        Process command = start(file, Math.min(seconds, LONGEST_SECONDS));
        try {
            OutputStream input = command.getOutputStream();
            InputStream output = command.getInputStream();
            input.write('\n');
            input.flush();
            if (output.read() == '\n') {
                return new FileLock(command);
            }
        } catch (IOException e) {
            command.destroy();
            command.onExit().join();
            throw new StoreException(
                    "The flock command for '%s' ended with %d. Check that the directory is writable"
                            .formatted(file, command.exitValue()),
                    e);
        }
        command.onExit().join();
        throw new StoreTimeoutException(
                "Did not get the lock of store file '%s' within %d s (flock ended with %d). Check that the directory is writable and that no stopped process holds the file"
                        .formatted(file, seconds, command.exitValue()),
                null);
    }

    private static Process start(Path file, long seconds) {
        try {
            return new ProcessBuilder("flock", "-w", Long.toString(seconds), file.toString(), "cat")
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start();
        } catch (IOException e) {
            throw new StoreException(
                    "Can not lock store file '%s': the flock command does not start. Install it (package util-linux), or use a TcpStore"
                            .formatted(file),
                    e);
        }
    }

    @Override
    public void close() {
        try {
            command.getOutputStream().close();
            command.getInputStream().close();
        } catch (IOException e) {
            throw new StoreException("The flock command ended while it held the lock", e);
        } finally {
            command.onExit().join();
        }
    }
}
