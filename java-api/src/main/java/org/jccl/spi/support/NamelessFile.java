package org.jccl.spi.support;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.UUID;

/**
 * A file that has lost its name, so that it is safe in a directory to which other users may write.
 * They can rename and delete what is there, but only this user can open the file for writing. The
 * process reaches it by its descriptor, whatever others do to the directory.
 */
final class NamelessFile {

    private static final Path DESCRIPTORS = Path.of("/proc/self/fd");

    /**
     * Kept open, because the linker takes two files with the same path for one, and the number of a
     * closed descriptor is used again.
     */
    private static final List<FileChannel> OPEN = new ArrayList<>();

    private NamelessFile() {}

    /**
     * Writes a file.
     *
     * @param directory an existing directory of this user or root
     * @param name what debuggers and crash reports show
     * @return the path of its descriptor
     */
    static synchronized Path write(Path directory, String name, byte[] content) throws IOException {
        Path file = directory.resolve(name + "." + UUID.randomUUID());
        FileChannel channel =
                FileChannel.open(
                        file,
                        Set.of(
                                StandardOpenOption.CREATE_NEW,
                                StandardOpenOption.READ,
                                StandardOpenOption.WRITE),
                        PosixFilePermissions.asFileAttribute(
                                PosixFilePermissions.fromString("rw-------")));
        OPEN.add(channel);
        try {
            Files.delete(file);
            ByteBuffer bytes = ByteBuffer.wrap(content);
            while (bytes.hasRemaining()) {
                bytes.limit(
                        Math.min(bytes.position() + NativeLibraries.PIECE_BYTES, content.length));
                channel.write(bytes);
                bytes.limit(content.length);
            }
            return descriptor(file);
        } catch (IOException e) {
            OPEN.remove(channel);
            channel.close();
            throw e;
        }
    }

    /** Java does not tell the number of a descriptor. */
    private static Path descriptor(Path deleted) throws IOException {
        String target = deleted + " (deleted)";
        try (DirectoryStream<Path> all = Files.newDirectoryStream(DESCRIPTORS)) {
            for (Path each : all) {
                try {
                    if (Files.readSymbolicLink(each).toString().equals(target)) {
                        return each;
                    }
                } catch (NoSuchFileException e) {
                    continue; // closed meanwhile
                }
            }
        }
        throw new IOException("%s does not list %s".formatted(DESCRIPTORS, target));
    }
}
