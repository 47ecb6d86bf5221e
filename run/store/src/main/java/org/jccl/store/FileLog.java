package org.jccl.store;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Objects;

/**
 * PyTorch's file of records, each {@code u32 key length, key, u32 value length, value} in
 * little-endian order, and the resulting content. A record whose key starts with {@code -} deletes
 * the key named by the rest. Keys are stored as Latin-1 text, so that any bytes are preserved.
 *
 * <p>Reading needs no lock, because records are only appended. A record that is still being written
 * is shorter than its length says, and the next refresh reads it.
 */
final class FileLog implements AutoCloseable {

    private static final String DELETE = "-";

    private final Path file;
    private KeySpace keys = new KeySpace();
    private long position;

    /** Keeps the file open, so that its inode number is not reused; null before the first use. */
    private RandomAccessFile first;

    private Object identity;

    FileLog(Path file) {
        this.file = file;
    }

    KeySpace keys() {
        return keys;
    }

    /** Reads the records that were appended since the last refresh. */
    void refresh() throws IOException {
        try (RandomAccessFile content = open("r")) {
            read(content);
        }
    }

    /** Reads the new records. The caller holds the lock, so the last record must be complete. */
    void refreshUnderLock() throws IOException {
        try (RandomAccessFile content = open("r")) {
            if (read(content) != content.length()) {
                throw new IOException(
                        "its last record is truncated: a process died while writing, or this is not a store file");
            }
        }
    }

    /**
     * Opens the file. Does not use a FileChannel, because an interrupt of the calling thread would
     * close it.
     */
    private RandomAccessFile open(String mode) throws IOException {
        RandomAccessFile content = new RandomAccessFile(file.toFile(), mode);
        try {
            Object found = Files.readAttributes(file, BasicFileAttributes.class).fileKey();
            if (first == null) {
                first = new RandomAccessFile(file.toFile(), "r");
                identity = found;
            }
            if (!Objects.equals(identity, found)) {
                throw new IOException("it is another file: a job deleted it and created it again");
            }
            return content;
        } catch (IOException | RuntimeException e) {
            content.close();
            throw e;
        }
    }

    @Override
    public void close() throws IOException {
        if (first != null) {
            first.close();
        }
    }

    private long read(RandomAccessFile content) throws IOException {
        long size = content.length();
        if (size < position) {
            throw new IOException("it became shorter: another job deleted and reused it");
        }
        if (size - position > Integer.MAX_VALUE) {
            throw new IOException("it has grown by more than 2 GiB");
        }
        byte[] added = new byte[(int) (size - position)];
        content.seek(position);
        int length = 0;
        for (int got = 0; got >= 0 && length < added.length; length += Math.max(0, got)) {
            got =
                    content.read(
                            added,
                            length,
                            added.length - length); // fewer if the file was truncated
        }
        ByteBuffer bytes = ByteBuffer.wrap(added, 0, length).order(ByteOrder.LITTLE_ENDIAN);
        for (byte[] key = part(bytes); key != null; key = part(bytes)) {
            byte[] value = part(bytes);
            if (value == null) {
                break;
            }
            apply(new String(key, StandardCharsets.ISO_8859_1), value);
            position += 2L * Integer.BYTES + key.length + value.length;
        }
        return position;
    }

    /** Returns the next length-prefixed bytes, or null if they are incomplete. */
    private static byte[] part(ByteBuffer bytes) {
        if (bytes.remaining() < Integer.BYTES) {
            return null;
        }
        long length = Integer.toUnsignedLong(bytes.getInt());
        if (bytes.remaining() < length) {
            return null;
        }
        byte[] part = new byte[(int) length];
        bytes.get(part);
        return part;
    }

    private void apply(String key, byte[] value) {
        if (key.startsWith(DELETE)) {
            keys.delete(key.substring(DELETE.length()));
        } else {
            keys.set(key, value);
        }
    }

    /** Appends a record of a key's current value. The caller holds the lock and has refreshed. */
    void writeSet(String key) throws IOException {
        append(key, keys.get(key));
    }

    /** Appends a record that deletes a key. The caller holds the lock and has refreshed. */
    void writeDelete(String key) throws IOException {
        append(DELETE + key, new byte[0]);
    }

    /** Appends a record. If that fails, the file is truncated to its old length and read again. */
    private void append(String key, byte[] value) throws IOException {
        boolean written = false;
        try {
            write(record(key, value));
            written = true;
        } finally {
            if (!written) {
                keys = new KeySpace();
                position = 0;
            }
        }
    }

    private static byte[] record(String key, byte[] value) {
        byte[] name = key.getBytes(StandardCharsets.ISO_8859_1);
        return ByteBuffer.allocate(2 * Integer.BYTES + name.length + value.length)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putInt(name.length)
                .put(name)
                .putInt(value.length)
                .put(value)
                .array();
    }

    private void write(byte[] record) throws IOException {
        try (RandomAccessFile content = open("rw")) {
            long end = content.length();
            try {
                content.seek(end);
                content.write(record);
            } catch (IOException | Error e) {
                content.setLength(end); // writers reject a file with a partial record
                throw e;
            }
        }
        position += record.length;
    }
}
