package org.jccl.store;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.jccl.StoreException;
import org.jccl.StoreTimeoutException;
import org.jccl.spi.Deadline;
import org.jccl.spi.Polling;

/**
 * Holds the {@code flock(2)} lock of a file, through the {@code flock} command. Java's own file
 * locks are of another kind ({@code fcntl}), which PyTorch's {@code flock} does not respect. The
 * command runs {@code cat} under the lock; closing its input ends both, and so does the end of this
 * JVM.
 */
final class FileLock implements AutoCloseable {

    private static final Path LOCKS = Path.of("/proc/locks");

    private static final long MAX_SECONDS = TimeUnit.DAYS.toSeconds(365);

    /**
     * The time that the command may take beyond its own limit, and to end. It does not return while
     * a file server does not answer.
     */
    private static final long GRACE_SECONDS = 10;

    /** The exit code of the command if it did not get the lock in time. */
    private static final int TIMED_OUT = 1;

    /** The command opens its file before anything else, behind the three standard streams. */
    private static final String FLOCKS_FILE = "3";

    private final Process command;
    private final Path file;

    private FileLock(Process command, Path file) {
        this.command = command;
        this.file = file;
    }

    /**
     * Acquires the exclusive lock of a file, and creates the file if it does not exist. During the
     * wait, the last user may delete the file and another may create it again. The acquired lock is
     * then that of the deleted file, so this method tries again.
     */
    static FileLock acquire(Path file, Deadline deadline) {
        while (true) {
            FileLock lock = acquireOnce(file, deadline);
            boolean folder = Files.isDirectory(file); // the command locks folders too
            if (lock.isOf(file) && !folder) {
                return lock;
            }
            lock.close();
            if (folder) {
                requirePlace(file);
            }
        }
    }

    private boolean isOf(Path file) {
        Path held = Path.of("/proc", Long.toString(command.pid()), "fd", FLOCKS_FILE);
        if (!Files.exists(held, LinkOption.NOFOLLOW_LINKS)) {
            return true; // cannot be determined without /proc
        }
        try {
            return Files.isSameFile(held, file);
        } catch (IOException deleted) {
            return false;
        }
    }

    private static FileLock acquireOnce(Path file, Deadline deadline) {
        long seconds = 1 + TimeUnit.NANOSECONDS.toSeconds(deadline.nanosLeft());
        Process command = start(file, Math.min(seconds, MAX_SECONDS));
        boolean answered;
        try {
            command.getOutputStream().write('\n');
            command.getOutputStream().flush();
            answered = awaitAnswer(command, seconds + GRACE_SECONDS);
            if (answered && command.getInputStream().read() == '\n') {
                return new FileLock(command, file);
            }
        } catch (IOException gone) { // it ended before it could be written to
            answered = true;
        }
        if (!answered || !ended(command)) {
            command.destroyForcibly();
            throw new StoreTimeoutException(unanswered(file, seconds + GRACE_SECONDS), null);
        }
        if (command.exitValue() != TIMED_OUT) {
            requirePlace(file); // not earlier: it may hang as the command does
            throw new StoreException(
                    "Store file '%s' cannot be opened and locked (flock ended with %d). Check that it can be written, and that its file system supports locks"
                            .formatted(file, command.exitValue()),
                    null);
        }
        throw new StoreTimeoutException(
                "Did not get the lock of store file '%s' within %d s (flock ended with %d): %s"
                        .formatted(file, seconds, command.exitValue(), advice(file)),
                null);
    }

    /** Waits for the lock or for the end of the command. Returns false after the timeout. */
    private static boolean awaitAnswer(Process command, long seconds) throws IOException {
        Deadline deadline = Deadline.after(Duration.ofSeconds(seconds));
        for (long polls = 0; command.getInputStream().available() == 0; polls++) {
            if (!command.isAlive()) {
                return true;
            }
            if (deadline.hasPassed()) {
                return false;
            }
            Polling.pause(polls, 0);
        }
        return true;
    }

    /** Waits for the end of the command. Returns false after the timeout. */
    private static boolean ended(Process command) {
        return Deadline.after(Duration.ofSeconds(GRACE_SECONDS))
                .await(nanos -> command.waitFor(nanos, TimeUnit.NANOSECONDS));
    }

    private static String unanswered(Path file, long seconds) {
        return "The flock command for '%s' did not answer in %d s: the file server of the directory may be gone. Check it with ls, or use a TcpStore"
                .formatted(file, seconds);
    }

    /** Detects the usual mistakes, because the flock command only reports a number. */
    private static void requirePlace(Path file) {
        Path folder = file.toAbsolutePath().getParent();
        String problem = null;
        if (Files.isDirectory(file)) {
            problem = "it is a folder. Name a file in it";
        } else if (folder != null && !Files.exists(folder)) {
            problem = "the folder '" + folder + "' does not exist. Create it, on every host";
        } else if (folder != null && !Files.isDirectory(folder)) {
            problem = "'" + folder + "' is not a folder. Name a file in a folder";
        } else if (Files.exists(file)
                ? !Files.isReadable(file) || !Files.isWritable(file)
                : folder != null && !Files.isWritable(folder)) {
            problem = "this user may not read and write it. Change its owner, or name another file";
        }
        if (problem != null) {
            throw new StoreException(
                    "Store file '" + file + "' cannot be opened: " + problem, null);
        }
    }

    private static String advice(Path file) {
        return holder(file)
                .map(holder -> holder + " holds it. Let it continue, or end it")
                .orElse(
                        "check that the directory is writable and that no stopped process holds"
                                + " the file");
    }

    private static Process start(Path file, long seconds) {
        try {
            // A relative path could begin with a dash.
            String path = file.toAbsolutePath().toString();
            return new ProcessBuilder("flock", "-w", Long.toString(seconds), path, "cat")
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start();
        } catch (IOException e) {
            throw new StoreException(
                    "Cannot lock store file '%s': the flock command does not start. Install it (package util-linux), or use a TcpStore"
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
            awaitRelease();
        }
    }

    private void awaitRelease() {
        if (!ended(command)) {
            command.destroyForcibly();
            throw new StoreException(unanswered(file, GRACE_SECONDS), null);
        }
    }

    /**
     * Describes the process of this host that holds the {@code flock(2)} lock of a file. Returns
     * empty if it cannot be determined: locks of other hosts are not listed in {@code /proc/locks}.
     */
    private static Optional<String> holder(Path file) {
        try {
            String inode = ":" + Files.getAttribute(file, "unix:ino");
            for (String line : Files.readAllLines(LOCKS)) {
                // 1: FLOCK ADVISORY WRITE 4711 fe:00:2154514 0 EOF; an arrow marks a waiter
                String[] fields = line.split(" +");
                if (fields.length > 5 && fields[1].equals("FLOCK") && fields[5].endsWith(inode)) {
                    return ProcessHandle.of(Long.parseLong(fields[4])).flatMap(FileLock::text);
                }
            }
        } catch (IOException | NumberFormatException | UnsupportedOperationException e) {
            return Optional.empty(); // the holder only improves a message
        }
        return Optional.empty();
    }

    private static Optional<String> text(ProcessHandle holder) {
        boolean isCommand =
                holder.info().command().filter(name -> name.endsWith("/flock")).isPresent();
        Optional<ProcessHandle> process = isCommand ? holder.parent() : Optional.of(holder);
        return process.map(
                each ->
                        "process %s%s%s"
                                .formatted(
                                        each.pid(),
                                        each.info()
                                                .command()
                                                .map(name -> " (" + name + ")")
                                                .orElse(""),
                                        isStopped(each.pid()) ? ", which is stopped," : ""));
    }

    /**
     * Parses a line like {@code 4711 (java) T 1 ...}, where the name may have spaces and brackets.
     */
    private static boolean isStopped(long pid) {
        try {
            String stat = Files.readString(Path.of("/proc", Long.toString(pid), "stat"));
            return stat.startsWith("T", stat.lastIndexOf(')') + 2);
        } catch (IOException ended) {
            return false;
        }
    }
}
