package org.jccl.training;

import java.io.IOException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import org.jccl.FailureContext;
import org.jccl.ProcessGroup;

/**
 * The exclusive lock of one save on the directory of a checkpoint. Rank 0 holds it for its group.
 *
 * <p>It is an exclusive operating system lock on {@code checkpoint.lock}. The operating system
 * releases it when the process ends, so a killed process never blocks the next save. The file
 * stays: deleting it would let two processes lock two files of the same name.
 *
 * <p>The file {@code checkpoint.owner} names the owner. The message of a refused save quotes it. It
 * also protects a directory on a file system that has no locks, or locks only within a host: a save
 * whose name is no longer in the file has lost the directory and must not change it. It is separate
 * from the locked file, because closing any channel of a file releases all locks of the process on
 * it.
 */
final class CheckpointLock implements AutoCloseable {

    private static final String LOCK = "checkpoint.lock";
    private static final String OWNER = "checkpoint.owner";
    private static final System.Logger LOGGER = System.getLogger(CheckpointLock.class.getName());

    /** Attempts, 5 s in total, while the owner is unknown or its process has ended. */
    private static final int ATTEMPTS = 100;

    private static final long PAUSE_MILLIS = 50;

    /**
     * The owner of each directory that this process saves into, by the file key of the lock file.
     * Static, because operating system locks belong to the process: a second save must not even
     * open the file.
     */
    private static final Map<Object, Owner> HELD = new ConcurrentHashMap<>();

    private final Path directory;
    private final Object key;
    private final Owner owner;
    private final FileChannel channel;
    private final Optional<Owner> unfinished;

    /** A save: its id, host and process, and a text for messages. */
    private record Owner(String save, String host, long pid, String text) {

        static Owner of(ProcessGroup group, String save) {
            String host = hostName();
            long pid = ProcessHandle.current().pid();
            String run = System.getenv("JCCL_RUN_ID");
            String text =
                    String.format(
                            "process %d on host %s%s (rank %d of %d of group %s), which has been"
                                    + " saving since %s",
                            pid,
                            host,
                            run == null ? "" : " of job " + run.replaceAll("\\s", " "),
                            group.rank(),
                            group.size(),
                            group.name().replaceAll("\\s", " "),
                            Instant.now().truncatedTo(ChronoUnit.MILLIS));
            return new Owner(save, host, pid, text);
        }

        private static String hostName() {
            try {
                return Files.readString(Path.of("/proc/sys/kernel/hostname")).strip();
            } catch (IOException e) {
                return "localhost";
            }
        }

        boolean isOfThisHost() {
            return host.equals(hostName());
        }

        /** Returns whether its process is known to have ended. A process knows its own saves. */
        boolean isGone() {
            return isOfThisHost()
                    && (pid == ProcessHandle.current().pid() || ProcessHandle.of(pid).isEmpty());
        }

        void write(Path directory) throws IOException {
            Path file = directory.resolve(OWNER + "." + save + ".tmp");
            Files.writeString(file, String.join("\n", save, host, Long.toString(pid), text));
            Files.move(file, directory.resolve(OWNER), StandardCopyOption.ATOMIC_MOVE);
        }

        static Optional<Owner> read(Path directory) throws IOException {
            try {
                String[] lines = Files.readString(directory.resolve(OWNER)).split("\n", -1);
                return lines.length == 4 && lines[2].matches("\\d{1,18}")
                        ? Optional.of(
                                new Owner(lines[0], lines[1], Long.parseLong(lines[2]), lines[3]))
                        : Optional.empty();
            } catch (NoSuchFileException e) {
                return Optional.empty();
            }
        }
    }

    private CheckpointLock(
            Path directory,
            Object key,
            Owner owner,
            FileChannel channel,
            Optional<Owner> unfinished) {
        this.directory = directory;
        this.key = key;
        this.owner = owner;
        this.channel = channel;
        this.unfinished = unfinished;
    }

    /**
     * Acquires the lock. Fails immediately if its owner is known, or else after 5 s.
     *
     * @param directory an existing directory
     * @param save the id of the save
     * @param group the group, of which this is rank 0
     * @throws CheckpointException if another save has the lock; the message names its owner
     * @throws IOException if the directory cannot be written
     */
    static CheckpointLock take(Path directory, String save, ProcessGroup group) throws IOException {
        Path file = directory.resolve(LOCK);
        try {
            Files.createFile(file);
        } catch (FileAlreadyExistsException e) {
            // An earlier save made it.
        }
        Object fileKey = Files.readAttributes(file, BasicFileAttributes.class).fileKey();
        Object key = fileKey == null ? file.toRealPath() : fileKey;
        Owner owner = Owner.of(group, save);
        Owner held = HELD.putIfAbsent(key, owner);
        if (held != null) {
            throw refused(directory, group, Optional.of(held));
        }
        FileChannel channel = null;
        boolean taken = false;
        try {
            channel = FileChannel.open(file, StandardOpenOption.WRITE);
            lock(channel, directory, group);
            Optional<Owner> unfinished = Owner.read(directory);
            owner.write(directory);
            taken = true;
            return new CheckpointLock(directory, key, owner, channel, unfinished);
        } finally {
            if (!taken) {
                release(channel, key, owner);
            }
        }
    }

    private static boolean tryLock(FileChannel channel, Path directory) throws IOException {
        try {
            return channel.tryLock() != null;
        } catch (OverlappingFileLockException e) {
            return false; // this class was loaded twice in this process
        } catch (ClosedChannelException e) {
            throw e; // the thread was interrupted
        } catch (IOException e) {
            LOGGER.log(
                    System.Logger.Level.WARNING,
                    "the file system of "
                            + directory
                            + " does not support file locks ("
                            + e.getMessage()
                            + "). If two jobs save into it at the same time, the first one"
                            + " fails, instead of the second one");
            return true;
        }
    }

    /**
     * Fails if another process has the lock. Waits until that process has written its name, or
     * until the lock of a process that has just ended is released.
     */
    private static void lock(FileChannel channel, Path directory, ProcessGroup group)
            throws IOException {
        for (int attempt = 1; !tryLock(channel, directory); attempt++) {
            Optional<Owner> other = Owner.read(directory);
            boolean known = other.isPresent() && !other.get().isGone();
            if (known || attempt == ATTEMPTS) {
                throw refused(directory, group, other);
            }
            try {
                Thread.sleep(PAUSE_MILLIS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw refused(directory, group, other);
            }
        }
    }

    private static CheckpointException refused(
            Path directory, ProcessGroup group, Optional<Owner> owner) {
        boolean elsewhere = owner.isPresent() && !owner.get().isOfThisHost();
        return new CheckpointException(
                FailureContext.ofGroup(group.name(), group.rank()),
                "another save into "
                        + directory
                        + " is in progress, by "
                        + owner.map(Owner::text).orElse("an unknown process")
                        + "; end that job, or save to another directory"
                        + (elsewhere
                                ? ". If that host is lost, the file server releases the lock after a"
                                        + " while; to release it now, delete "
                                        + directory.resolve(LOCK)
                                : ""));
    }

    /**
     * Checks that no other save has taken over the directory, which can happen only if locks do not
     * reach its host.
     *
     * @throws CheckpointException if the directory has another owner; the message names it
     * @throws IOException if the owner cannot be read
     */
    void requireOwn() throws IOException {
        Optional<Owner> now = Owner.read(directory);
        if (now.isEmpty() || !now.get().save().equals(owner.save())) {
            throw new CheckpointException(
                    FailureContext.NONE,
                    "another save has taken over "
                            + directory
                            + ": "
                            + now.map(Owner::text).orElse("a process that has ended")
                            + "; end one of the jobs, or let each save to a directory of its own");
        }
    }

    /**
     * Returns whether a file belongs to an earlier save that may still be in progress, because
     * locks do not reach its host. Such files are retained until the next save.
     */
    boolean retains(String fileName) {
        return unfinished.isPresent()
                && !unfinished.get().isGone()
                && fileName.contains(unfinished.get().save());
    }

    /**
     * Releases the lock. After a failure at most the owner's file remains, which the next save
     * replaces.
     */
    @Override
    public void close() {
        try {
            requireOwn();
            Files.deleteIfExists(directory.resolve(OWNER));
        } catch (IOException | CheckpointException e) {
            LOGGER.log(
                    System.Logger.Level.DEBUG, "cannot delete the owner file of " + directory, e);
        } finally {
            release(channel, key, owner);
        }
    }

    private static void release(FileChannel channel, Object key, Owner owner) {
        try {
            if (channel != null) {
                channel.close();
            }
        } catch (IOException e) {
            LOGGER.log(System.Logger.Level.WARNING, "cannot release the lock of a checkpoint", e);
        } finally {
            HELD.remove(key, owner);
        }
    }
}
