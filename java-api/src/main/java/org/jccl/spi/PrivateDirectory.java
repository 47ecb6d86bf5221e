package org.jccl.spi;

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
 * Directories in which nobody but this user and root can change anything, so that a native library
 * that was written there and compared is the one that is loaded.
 *
 * <p>That is so when every directory from the root down belongs to this user or to root and nobody
 * else may write to it. Others may write to directories above the last one where the sticky bit is
 * set, as in {@code /tmp}: there they can not replace what is not theirs. A group that has its
 * owner's name is that user's own (the convention behind a umask of 002), and counts as the user.
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
     * next one is created in it, so nothing is left in a directory that is refused.
     *
     * @return its real path, in which no link is left that somebody could turn
     * @throws IOException when it can not be made, or others could change it; says who and where
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
            // Another process was faster; the caller checks whose directory it is.
            return;
        }
    }

    /** Whether a file is this user's own and nobody else may write to it. */
    static boolean isOwnFile(Path file) throws IOException {
        if (!Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)) {
            return false;
        }
        Entry entry = Entry.of(file);
        return entry.owner == ownUser() && !entry.othersMayWrite();
    }

    /**
     * From the root down: what is below a directory that was checked can not be exchanged any more.
     *
     * @param isLast whether libraries are to be written to it; otherwise it is only on the way
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
            Entry entry = Entry.of(path);
            boolean last = isLast && path.equals(real);
            if (entry.owner != self && (last || entry.owner != ROOT)) {
                throw new IOException(
                        "%s belongs to user %s and not to this one (%s), so what is in it can not be trusted"
                                .formatted(path, entry.owner, self));
            }
            if (entry.othersMayWrite() && (last || !entry.sticky())) {
                throw new IOException(
                        "others may write to " + path + ", so what is in it can not be trusted");
            }
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

    /** The user as which this process reaches files. The platform has no call that tells it. */
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
