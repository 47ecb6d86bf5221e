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
 * The right of one save to change the directory of a checkpoint. Rank 0 holds it for its group.
 *
 * <p>It is an exclusive lock of the operating system on {@code checkpoint.lock}. The operating
 * system releases it when the process ends, so a killed process never blocks the next save. The
 * file stays: deleting it would let two processes lock two files of the same name.
 *
 * <p>The file {@code checkpoint.owner} names the owner. The message of a refused save quotes it. It
 * also protects a directory on a file system that has no locks, or locks only within a host: a save
 * whose name is gone from the file has lost the directory and must not change it any more. Not in
 * the locked file, because closing any channel of a file releases all of the process's locks on it.
 */
final class CheckpointLock implements AutoCloseable {

    private static final String LOCK = "checkpoint.lock";
    private static final String OWNER = "checkpoint.owner";
    private static final System.Logger LOG = System.getLogger(CheckpointLock.class.getName());

    /** 5 s for a process that has the lock and is not named, or is named and has ended. */
    private static final int ATTEMPTS = 100;

    private static final long PAUSE_MILLIS = 50;

    /**
     * The owner of each directory that this process saves into, by the key of the lock's file. One
     * a process, as the operating system's locks are: a second save must not even open the file.
     */
    private static final Map<Object, Owner> HELD = new ConcurrentHashMap<>();

    private final Path directory;
    private final Object key;
    private final Owner owner;
    private final FileChannel channel;
    private final Optional<Owner> unfinished;

    /** A save: its id, where it runs, and a text for messages. */
    private record Owner(String save, String host, long pid, String text) {

        static Owner of(ProcessGroup group, String save) {
            String host = hostName();
            long pid = ProcessHandle.current().pid();
            String run = System.getenv("JCCL_RUN_ID");
            String text =
                    String.format(
                            "process %d on host %s%s (rank %d of %d of group %s), which saves since"
                                    + " %s",
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

        /** Whether its process is known to have ended; this process knows its own saves. */
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
     * Takes the lock, or fails: at once if its owner is known, else within seconds.
     *
     * @param directory that exists
     * @param save id of the save
     * @param group whose rank 0 this is
     * @throws CheckpointException if another save has the lock; the message names its owner
     * @throws IOException if the directory can not be written to
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
            LOG.log(
                    System.Logger.Level.WARNING,
                    "the file system of "
                            + directory
                            + " has no file locks ("
                            + e.getMessage()
                            + "): of two jobs that save into it at the same time the first one"
                            + " fails, instead of the second one");
            return true;
        }
    }

    /**
     * Fails when another process has the lock. Waits for its name, which is written after the lock
     * is taken, and for the lock of a process that has just ended.
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
                        + owner.map(Owner::text).orElse("a process that is not named there")
                        + "; end that job, or save to another directory"
                        + (elsewhere
                                ? ". If that host is lost, its file server ends the lock after a"
                                        + " while; to end it now, delete "
                                        + directory.resolve(LOCK)
                                : ""));
    }

    /**
     * Checks that no other save has taken the directory over, which happens only where locks do not
     * reach.
     *
     * @throws CheckpointException if the directory has another owner; the message names it
     * @throws IOException if the owner can not be read
     */
    void requireOwn() throws IOException {
        Optional<Owner> now = Owner.read(directory);
        if (now.isEmpty() || !now.get().save().equals(owner.save())) {
            throw new CheckpointException(
                    FailureContext.NONE,
                    "another save has taken "
                            + directory
                            + " over, by "
                            + now.map(Owner::text).orElse("a process that has ended it")
                            + "; end one of the jobs, or let each save to a directory of its own");
        }
    }

    /**
     * Whether a file is of a save before this one that may still be in progress, because locks do
     * not reach its host. Its files stay until the next save.
     */
    boolean spares(String fileName) {
        return unfinished.isPresent()
                && !unfinished.get().isGone()
                && fileName.contains(unfinished.get().save());
    }

    /**
     * Releases the lock. A failure leaves at most the owner's file, which the next save replaces.
     */
    @Override
    public void close() {
        try {
            requireOwn();
            Files.deleteIfExists(directory.resolve(OWNER));
        } catch (IOException | CheckpointException e) {
            LOG.log(System.Logger.Level.DEBUG, "the owner of " + directory + " stays named", e);
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
            LOG.log(System.Logger.Level.WARNING, "the lock of a checkpoint stays", e);
        } finally {
            HELD.remove(key, owner);
        }
    }
}
