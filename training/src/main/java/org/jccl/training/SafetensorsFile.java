package org.jccl.training;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import java.util.zip.CRC32C;
import org.jccl.DataType;
import org.jccl.FailureContext;
import org.jccl.Tensor;
import org.jccl.UsageException;

/**
 * A file of tensors in the safetensors format, compatible with Python's {@code safetensors}.
 * Written files have a CRC-32C of each tensor in the metadata entry {@code jccl.crc32c.} plus the
 * tensor's name, and one of the metadata in {@code jccl.crc32c.__metadata__}. Reading verifies
 * them. Files without checksums can be read too. Their replacement after {@link #open} is detected
 * only by size and modification time.
 *
 * <p>Immutable. Each call opens the file. Tensors may be on a device.
 */
public final class SafetensorsFile {

    private static final String CHECKSUM = "jccl.crc32c.";

    /** No tensor can have this name. */
    private static final String CHECKSUM_OF_TEXTS = CHECKSUM + "__metadata__";

    private static final int PIECE = 1 << 20;

    private final Path path;
    private final SafetensorsHeader header;
    private final long dataStart;
    private final Version version;

    /**
     * A version of a file. It does not contain the file key, because user-space file systems may
     * change it.
     */
    private record Version(long size, FileTime modified) {

        static Version of(Path path) throws IOException {
            BasicFileAttributes now = Files.readAttributes(path, BasicFileAttributes.class);
            return new Version(now.size(), now.lastModifiedTime());
        }
    }

    private SafetensorsFile(Path path, SafetensorsHeader header, long dataStart, Version version) {
        this.path = path;
        this.header = header;
        this.dataStart = dataStart;
        this.version = version;
    }

    /**
     * Writes a file atomically: first under another name in the same directory, then by a rename.
     * Readers see the old file or the new one, even if the writer is killed.
     *
     * @param path the file, replaced if it exists
     * @param tensors tensors with different names
     * @param metadata texts by name; names that begin with {@code jccl.crc32c.} are reserved
     * @throws UsageException if an argument is null, a name is repeated or reserved, or a text has
     *     half of a surrogate pair
     * @throws CheckpointException if the file cannot be written
     */
    public static void write(Path path, List<NamedTensor> tensors, Map<String, String> metadata) {
        if (path == null || tensors == null || metadata == null) {
            throw new UsageException(
                    FailureContext.NONE, "path, tensors or metadata is null: " + path);
        }
        List<NamedTensor> inOrder = checked(tensors);
        // This aligns all elements to multiples of their size.
        inOrder.sort(
                Comparator.comparingInt((NamedTensor each) -> each.tensor().dataType().size())
                        .reversed());
        Map<String, String> texts = texts(metadata);
        Map<String, SafetensorsHeader.Entry> entries = new LinkedHashMap<>();
        long end = 0;
        for (NamedTensor each : inOrder) {
            long begin = end;
            end += each.tensor().byteSize();
            entries.put(
                    each.name(),
                    new SafetensorsHeader.Entry(
                            SafetensorsHeader.name(each.tensor().dataType()),
                            each.shape(),
                            begin,
                            end));
            texts.put(CHECKSUM + each.name(), text(0));
        }
        texts.put(CHECKSUM_OF_TEXTS, text(0));
        SafetensorsHeader header = new SafetensorsHeader(texts, entries);
        int headerBytes = header.write().length;
        if (headerBytes > SafetensorsHeader.MAX_BYTES) {
            throw new UsageException(
                    FailureContext.NONE,
                    "names and metadata of "
                            + path
                            + " take "
                            + headerBytes
                            + " bytes, the limit is "
                            + SafetensorsHeader.MAX_BYTES);
        }
        atomically(
                path,
                channel -> {
                    channel.position(headerBytes);
                    for (NamedTensor each : inOrder) {
                        texts.put(
                                CHECKSUM + each.name(),
                                text(
                                        TensorBytes.read(
                                                each.tensor(), piece -> writeAll(channel, piece))));
                    }
                    texts.put(CHECKSUM_OF_TEXTS, text(checksum(texts)));
                    channel.position(0);
                    writeAll(channel, ByteBuffer.wrap(header.write()));
                });
    }

    private static List<NamedTensor> checked(List<NamedTensor> tensors) {
        List<NamedTensor> copy = new ArrayList<>(tensors);
        Set<String> names = new HashSet<>();
        for (NamedTensor each : copy) {
            if (each == null || !names.add(each.name())) {
                throw new UsageException(
                        FailureContext.NONE,
                        each == null
                                ? "a tensor is null"
                                : "tensor '" + each.name() + "' appears twice");
            }
        }
        return copy;
    }

    private static Map<String, String> texts(Map<String, String> metadata) {
        Map<String, String> texts = new LinkedHashMap<>();
        for (Map.Entry<String, String> text : metadata.entrySet()) {
            if (text.getKey() == null
                    || text.getValue() == null
                    || text.getKey().startsWith(CHECKSUM)
                    || !Shapes.isText(text.getKey())
                    || !Shapes.isText(text.getValue())) {
                throw new UsageException(
                        FailureContext.NONE, "metadata " + text + " is reserved or not valid text");
            }
            texts.put(text.getKey(), text.getValue());
        }
        return texts;
    }

    /** Writes to an open file. */
    private interface Content {
        void write(FileChannel channel) throws IOException;
    }

    private static void atomically(Path path, Content content) {
        Path absolute = path.toAbsolutePath();
        Path unfinished = null;
        try {
            // Files.createTempFile would create a file that other users cannot read.
            String suffix = "." + Long.toHexString(UUID.randomUUID().hashCode()) + ".tmp";
            unfinished = absolute.resolveSibling(absolute.getFileName() + suffix);
            try (FileChannel channel =
                    FileChannel.open(
                            unfinished, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
                content.write(channel);
                channel.force(true);
            }
            Files.move(unfinished, absolute, StandardCopyOption.ATOMIC_MOVE);
            unfinished = null;
            forceNameOf(absolute);
        } catch (IOException e) {
            throw new CheckpointException(
                    FailureContext.NONE, path + " cannot be written: " + e, e);
        } finally {
            if (unfinished != null) {
                unfinished.toFile().delete();
            }
        }
    }

    private static void forceNameOf(Path written) {
        try {
            force(written.getParent());
        } catch (IOException e) {
            throw new CheckpointException(
                    FailureContext.NONE,
                    "%s was written, but its folder cannot be forced to the disk: a crash of the host may bring back the file before: %s"
                            .formatted(written, e),
                    e);
        }
    }

    /** Makes the names in a folder survive a crash of the host. */
    private static void force(Path folder) throws IOException {
        try (FileChannel directory = FileChannel.open(folder)) {
            directory.force(true);
        }
    }

    /**
     * Creates a folder and those above it, and makes their names survive a crash of the host.
     *
     * @return the folders with a new name in them
     */
    static List<Path> createFolders(Path folder) throws IOException {
        List<Path> changed = new ArrayList<>();
        Path missing = folder.toAbsolutePath();
        while (missing != null && !Files.exists(missing)) {
            missing = missing.getParent();
            changed.add(missing);
        }
        Files.createDirectories(folder);
        for (Path each : changed) {
            force(each);
        }
        return changed;
    }

    /** Returns the checksum of all other texts, in any order, since Python changes it. */
    private static long checksum(Map<String, String> texts) {
        CRC32C checksum = new CRC32C();
        new TreeMap<>(texts)
                .forEach(
                        (key, text) -> {
                            if (!key.equals(CHECKSUM_OF_TEXTS)) {
                                for (String each : List.of(key, text)) {
                                    checksum.update(each.getBytes(StandardCharsets.UTF_8));
                                    checksum.update(0);
                                }
                            }
                        });
        return checksum.getValue();
    }

    private static void writeAll(FileChannel channel, ByteBuffer bytes) throws IOException {
        while (bytes.hasRemaining()) {
            channel.write(bytes);
        }
    }

    private static String text(long checksum) {
        return String.format("%08x", checksum);
    }

    /**
     * Reads the header of a file and checks the length of the file.
     *
     * @param path the path of the file
     * @return the file
     * @throws UsageException if the path is null
     * @throws CheckpointException if the file does not exist, cannot be read, is not in this
     *     format, is truncated, has a type that the format does not define, or has metadata that
     *     does not match its checksum
     */
    public static SafetensorsFile open(Path path) {
        if (path == null) {
            throw new UsageException(FailureContext.NONE, "path is null");
        }
        try {
            // Read first, so that read() detects any later replacement.
            Version version = Version.of(path);
            SafetensorsFile file = open(path, version);
            Version now = Version.of(path);
            // The file was replaced meanwhile, or NFS had cached an older version.
            return now.equals(version) ? file : open(path, now);
        } catch (SafetensorsHeader.Fault e) {
            throw new CheckpointException(
                    FailureContext.NONE, path + " cannot be read: " + e.getMessage(), e);
        } catch (NoSuchFileException e) {
            throw new CheckpointException(FailureContext.NONE, path + " does not exist", e);
        } catch (IOException e) {
            throw new CheckpointException(
                    FailureContext.NONE,
                    path
                            + " cannot be read: "
                            + (Files.isDirectory(path) ? "it is a folder; name a file in it" : e),
                    e);
        }
    }

    private static SafetensorsFile open(Path path, Version version)
            throws IOException, SafetensorsHeader.Fault {
        try (FileChannel channel = FileChannel.open(path, StandardOpenOption.READ)) {
            long size = channel.size();
            ByteBuffer prefix =
                    ByteBuffer.allocate(SafetensorsHeader.PREFIX).order(ByteOrder.LITTLE_ENDIAN);
            if (size < SafetensorsHeader.PREFIX) {
                throw new SafetensorsHeader.Fault(
                        "it has only "
                                + Counted.of(size, "byte")
                                + ": it is truncated, or is not a safetensors file");
            }
            readAll(channel, prefix, 0);
            if (new String(prefix.array(), StandardCharsets.ISO_8859_1).equals("version ")) {
                throw new SafetensorsHeader.Fault(
                        "it is a pointer of Git LFS to a file that was not fetched: run 'git lfs"
                                + " pull'");
            }
            long length = prefix.getLong(0);
            if (length < 2 || length > SafetensorsHeader.MAX_BYTES) {
                throw new SafetensorsHeader.Fault(
                        "its header would have "
                                + Long.toUnsignedString(length)
                                + " bytes, expected 2 to "
                                + SafetensorsHeader.MAX_BYTES
                                + ": it is damaged, or is not a safetensors file");
            }
            long dataStart = SafetensorsHeader.PREFIX + length;
            if (dataStart > size) {
                throw new SafetensorsHeader.Fault(
                        "its header ends at byte "
                                + dataStart
                                + ", but the file at byte "
                                + size
                                + ": it is truncated, or is not a safetensors file");
            }
            ByteBuffer header = ByteBuffer.allocate((int) length);
            readAll(channel, header, SafetensorsHeader.PREFIX);
            SafetensorsFile file =
                    new SafetensorsFile(
                            path,
                            SafetensorsHeader.read(header.array(), size - dataStart),
                            dataStart,
                            version);
            file.requireTexts();
            return file;
        }
    }

    private void requireTexts() throws SafetensorsHeader.Fault {
        String expected = header.metadata().get(CHECKSUM_OF_TEXTS);
        String actual = text(checksum(header.metadata()));
        if (expected != null && !expected.equals(actual)) {
            throw new SafetensorsHeader.Fault(
                    "its metadata has the checksum "
                            + actual
                            + ", but was written with "
                            + expected
                            + ". It is damaged, or another program changed it and did not remove"
                            + " the entry "
                            + CHECKSUM_OF_TEXTS);
        }
    }

    private void requireSameVersion() throws IOException {
        Version now = Version.of(path);
        if (!now.equals(version)) {
            throw new CheckpointException(
                    FailureContext.NONE,
                    path
                            + " was replaced or changed after it was opened (it was "
                            + version
                            + ", and is "
                            + now
                            + "); open it again");
        }
    }

    private static void readAll(FileChannel channel, ByteBuffer bytes, long position)
            throws IOException {
        long from = position;
        while (bytes.hasRemaining()) {
            int read = channel.read(bytes, from);
            if (read < 0) {
                throw new IOException("it ends at byte " + from);
            }
            from += read;
        }
    }

    /**
     * Returns the names of the tensors.
     *
     * @return the names in the order of the header
     */
    public List<String> names() {
        return List.copyOf(header.tensors().keySet());
    }

    /**
     * Returns the type of a tensor.
     *
     * @param name the name of the tensor
     * @return the type of its elements
     * @throws UsageException if there is no such tensor, or JCCL has no such type
     */
    public DataType dataType(String name) {
        return type(name, entry(name));
    }

    /**
     * Returns the type of a tensor as the file names it, for instance {@code F32}. The format has
     * types that JCCL lacks; such a tensor cannot be read, but the others of its file can.
     *
     * @param name the name of the tensor
     * @return the name of the type of its elements
     * @throws UsageException if there is no such tensor
     */
    public String typeName(String name) {
        return entry(name).type();
    }

    private DataType type(String name, SafetensorsHeader.Entry entry) {
        DataType type = SafetensorsHeader.type(entry.type());
        if (type == null) {
            throw new UsageException(
                    FailureContext.NONE,
                    "tensor '"
                            + name
                            + "' of "
                            + path
                            + " has the type "
                            + entry.type()
                            + ", which JCCL does not support; it supports "
                            + SafetensorsHeader.types());
        }
        return type;
    }

    /**
     * Returns the shape of a tensor.
     *
     * @param name the name of the tensor
     * @return its sizes, the last one innermost
     * @throws UsageException if there is no such tensor
     */
    public List<Long> shape(String name) {
        return entry(name).shape();
    }

    /**
     * Returns the metadata without checksums.
     *
     * @return the texts by name
     */
    public Map<String, String> metadata() {
        Map<String, String> texts = new LinkedHashMap<>(header.metadata());
        texts.keySet().removeIf(key -> key.startsWith(CHECKSUM));
        return Collections.unmodifiableMap(texts);
    }

    private SafetensorsHeader.Entry entry(String name) {
        SafetensorsHeader.Entry entry = name == null ? null : header.tensors().get(name);
        if (entry == null) {
            throw new UsageException(
                    FailureContext.NONE, "there is no tensor '" + name + "' in " + path);
        }
        return entry;
    }

    /**
     * Reads elements of a tensor. The whole stored tensor is read to verify its checksum.
     *
     * @param name the name of the tensor
     * @param offset the first element to read, in the flat tensor
     * @param target the tensor to fill, of the same type; its count is the number of elements to
     *     read
     * @throws UsageException if there is no such tensor, JCCL has no such type, the type of the
     *     target differs, or the elements are out of its range
     * @throws CheckpointException if the file cannot be read, the checksum does not match, or there
     *     is no checksum and the file was replaced since {@link #open}. The contents of the target
     *     are then undefined
     */
    public void read(String name, long offset, Tensor target) {
        SafetensorsHeader.Entry entry = entry(name);
        DataType type = type(name, entry);
        long elements = (entry.end() - entry.begin()) / type.size();
        if (target == null || target.dataType() != type) {
            throw new UsageException(
                    FailureContext.NONE,
                    "tensor '" + name + "' of " + path + " is " + type + ", not " + target);
        }
        if (offset < 0 || offset > elements - target.count()) {
            throw new UsageException(
                    FailureContext.NONE,
                    "elements "
                            + offset
                            + " and following for "
                            + target
                            + " are not inside tensor '"
                            + name
                            + "' of "
                            + Counted.of(elements, "element"));
        }
        CRC32C checksum = new CRC32C();
        String expected = header.metadata().get(CHECKSUM + name);
        try (FileChannel channel = FileChannel.open(path, StandardOpenOption.READ)) {
            ByteBuffer bytes = ByteBuffer.allocateDirect(PIECE).order(ByteOrder.nativeOrder());
            long piece = PIECE / type.size();
            for (long from = 0; from < elements; from += piece) {
                long count = Math.min(piece, elements - from);
                bytes.clear().limit(Math.toIntExact(count * type.size()));
                readAll(channel, bytes, dataStart + entry.begin() + from * type.size());
                checksum.update(bytes.flip());
                bytes.rewind();
                copy(Tensor.of(bytes, type), from, offset, target);
            }
            if (!text(checksum.getValue()).equals(expected)) {
                requireSameVersion();
            }
        } catch (IOException e) {
            throw new CheckpointException(FailureContext.NONE, path + " cannot be read: " + e, e);
        }
        if (expected != null && !expected.equals(text(checksum.getValue()))) {
            throw new CheckpointException(
                    FailureContext.NONE,
                    path
                            + " is damaged: tensor '"
                            + name
                            + "' has the checksum "
                            + text(checksum.getValue())
                            + ", but was written with "
                            + expected);
        }
    }

    /** Copies those of the requested elements that are in a piece. */
    private static void copy(Tensor piece, long from, long offset, Tensor target) {
        long first = Math.max(from, offset);
        long end = Math.min(from + piece.count(), offset + target.count());
        if (first < end) {
            target.slice(first - offset, end - first)
                    .copyFrom(piece.slice(first - from, end - first));
        }
    }

    /** Returns a description such as {@code model.safetensors with 12 tensors}. */
    @Override
    public String toString() {
        return path + " with " + Counted.of(header.tensors().size(), "tensor");
    }
}
