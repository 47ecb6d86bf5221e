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
 * little-endian order, and the content they add up to. A key that starts with {@code -} deletes the
 * key named by the rest. Keys are kept as Latin-1 text so that any bytes survive.
 *
 * <p>Reading needs no lock: records are only ever appended, and one that is still being written is
 * shorter than it announces, so it is left for the next time.
 */
final class FileLog implements AutoCloseable {

    private static final String DELETE = "-";

    private final Path file;
    private KeySpace keys = new KeySpace();
    private long position;

    /** Keeps the number of the file from being given to another one; null before the first use. */
    private RandomAccessFile first;

    private Object identity;

    FileLog(Path file) {
        this.file = file;
    }

    KeySpace keys() {
        return keys;
    }

    /** Takes in the records that were appended since the last time. */
    void refresh() throws IOException {
        try (RandomAccessFile content = open("r")) {
            read(content);
        }
    }

    /** Takes in what is new; under the lock nobody is writing, so the last record is whole. */
    void refreshUnderLock() throws IOException {
        try (RandomAccessFile content = open("r")) {
            if (read(content) != content.length()) {
                throw new IOException(
                        "its last record is cut short: a process died while writing, or this is not a store file");
            }
        }
    }

    /** Not a FileChannel, which would be closed by an interrupt of the calling thread. */
    private RandomAccessFile open(String mode) throws IOException {
        RandomAccessFile content = new RandomAccessFile(file.toFile(), mode);
        try {
            Object found = Files.readAttributes(file, BasicFileAttributes.class).fileKey();
            if (first == null) {
                first = new RandomAccessFile(file.toFile(), "r");
                identity = found;
            }
            if (!Objects.equals(identity, found)) {
                throw new IOException("it is another file: a job deleted it and made it anew");
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
            got = content.read(added, length, added.length - length); // less where one was cut off
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

    /** The next length and bytes, or null when not all of them are there. */
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

    /** Records the value a key has now. The caller holds the lock and has refreshed. */
    void writeSet(String key) throws IOException {
        append(key, keys.get(key));
    }

    /** Records that a key is gone. The caller holds the lock and has refreshed. */
    void writeDelete(String key) throws IOException {
        append(DELETE + key, new byte[0]);
    }

    /** What can not be written did not happen: the file gets its old end, and is read anew. */
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
                content.setLength(end); // a part would make the file unreadable for writers
                throw e;
            }
        }
        position += record.length;
    }
}
