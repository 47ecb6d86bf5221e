package org.jccl.spi.support;

import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;

/**
 * Directories in which only this user and root can change anything, so that a native library that
 * was written and compared is the one that is loaded.
 *
 * <p>Every directory from the root down must belong to this user or to root, and no other user may
 * write to it. Above the last directory, others may write to directories with the sticky bit, such
 * as {@code /tmp}, since they cannot replace files of other users there. A group with the name of
 * its owner is the private group of that user (the convention behind a umask of 002), and counts as
 * the user.
 */
final class PrivateDirectory {

    private static final FileAttribute<Set<PosixFilePermission>> OWNER_ONLY =
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));

    private static final int ROOT = 0;
    private static final int STICKY = 01000;
    private static final int GROUP_WRITE = 020;
    private static final int OTHERS_WRITE = 02;

    private PrivateDirectory() {}

    /**
     * Creates a directory if it is missing, and checks it. Each directory is checked before the
     * next one is created in it, so that a rejected directory stays empty.
     *
     * @return the real path, without links that could be changed
     * @throws SharedException if only this user and root own the path, but others may write to it
     * @throws IOException if it cannot be created or belongs to others; the message names the user
     *     and the directory
     */
    static Path create(Path directory) throws IOException {
        Deque<Path> missing = new ArrayDeque<>();
        Path present = directory.toAbsolutePath();
        while (Files.notExists(present)) {
            missing.push(present.getFileName());
            present = present.getParent();
        }
        Path real = present.toRealPath();
        check(real, missing.isEmpty());
        while (!missing.isEmpty()) {
            Path next = real.resolve(missing.pop());
            createOne(next);
            real = next.toRealPath();
            check(real, missing.isEmpty());
        }
        return real;
    }

    private static void createOne(Path directory) throws IOException {
        try {
            Files.createDirectory(directory, OWNER_ONLY);
        } catch (FileAlreadyExistsException e) {
            // Another process created it; the caller checks the owner.
            return;
        }
    }

    /** Returns whether a file belongs to this user and no other user may write to it. */
    static boolean isOwnFile(Path file) throws IOException {
        if (!Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)) {
            return false;
        }
        Entry entry = Entry.of(file);
        return entry.owner == ownUser() && !entry.othersMayWrite();
    }

    /**
     * Checks the path from the root down. Nothing below a checked directory can be replaced.
     *
     * @param isLast whether libraries will be written to it
     */
    private static void check(Path real, boolean isLast) throws IOException {
        if (!Files.isDirectory(real)) {
            throw new NotDirectoryException(real.toString());
        }
        int self = ownUser();
        Deque<Path> downwards = new ArrayDeque<>();
        for (Path path = real; path != null; path = path.getParent()) {
            downwards.push(path);
        }
        for (Path path : downwards) {
            int owner = Entry.of(path).owner;
            if (owner != self && owner != ROOT) {
                throw new IOException(belongsTo(owner, path, self));
            }
        }
        for (Path path : downwards) {
            Entry entry = Entry.of(path);
            boolean last = isLast && path.equals(real);
            if (last && entry.owner != self) {
                throw new SharedException(real, belongsTo(entry.owner, path, self));
            }
            if (entry.othersMayWrite() && (last || !entry.sticky())) {
                throw new SharedException(
                        real,
                        "other users may write to " + path + ", so its content cannot be trusted");
            }
        }
    }

    private static String belongsTo(int owner, Path path, int self) {
        return "%s belongs to user %s, not to this user (%s), so its content cannot be trusted"
                .formatted(path, owner, self);
    }

    /**
     * Only this user and root own the directories of a path, but others may write to one of them,
     * as to the volumes of Kubernetes. They can rename files there, and not change their content.
     */
    static final class SharedException extends IOException {
        private static final long serialVersionUID = 1;

        /** The last directory of the path that exists. A file without a name is safe there. */
        final transient Path existing;

        private SharedException(Path existing, String message) {
            super(message);
            this.existing = existing;
        }
    }

    private record Entry(int owner, int mode, boolean ownGroup) {

        static Entry of(Path path) throws IOException {
            Map<String, Object> unix =
                    Files.readAttributes(path, "unix:uid,mode", LinkOption.NOFOLLOW_LINKS);
            PosixFileAttributes names =
                    Files.readAttributes(
                            path, PosixFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
            return new Entry(
                    (Integer) unix.get("uid"),
                    (Integer) unix.get("mode"),
                    names.group().getName().equals(names.owner().getName()));
        }

        boolean sticky() {
            return (mode & STICKY) != 0;
        }

        boolean othersMayWrite() {
            return (mode & OTHERS_WRITE) != 0 || (mode & GROUP_WRITE) != 0 && !ownGroup;
        }
    }

    /** Returns the user id with which this process accesses files. The JDK has no call for it. */
    static int ownUser() throws IOException {
        try (Stream<String> status = Files.lines(Path.of("/proc/self/status"))) {
            String[] users =
                    status.filter(line -> line.startsWith("Uid:"))
                            .findFirst()
                            .orElseThrow(() -> new IOException("/proc/self/status has no Uid"))
                            .split("\\s+");
            return Integer.parseUnsignedInt(users[4]); // real, effective, saved, of files
        }
    }
}
