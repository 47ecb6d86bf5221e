package org.jccl.sccl;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * A shared library that is read as a file, to get the bytes between two exported symbols. Supports
 * ELF of 64 bits, little-endian, which all machines with TPUs use.
 */
final class SharedObject implements AutoCloseable {

    private static final int MAGIC = 0x464c457f; // 0x7f, E, L, F
    private static final int CLASS_64_LITTLE_ENDIAN = 0x0102;

    // Offsets in the file's header.
    private static final int CLASS = 4;
    private static final int SEGMENTS = 0x20;
    private static final int SECTIONS = 0x28;
    private static final int SEGMENT_SIZE = 0x36;
    private static final int SEGMENT_COUNT = 0x38;
    private static final int SECTION_SIZE = 0x3a;
    private static final int SECTION_COUNT = 0x3c;

    private static final int LOADED_SEGMENT = 1;
    private static final int DYNAMIC_SYMBOLS = 11;
    private static final int SYMBOL_BYTES = 24;

    /** Of sections and segments. */
    private static final int SMALLEST_ENTRY = 56;

    private final Path path;
    private final FileChannel file;

    private SharedObject(Path path, FileChannel file) {
        this.path = path;
        this.file = file;
    }

    static SharedObject open(Path path) throws IOException {
        FileChannel file = FileChannel.open(path);
        try {
            SharedObject opened = new SharedObject(path, file);
            ByteBuffer header = opened.read(0, 64);
            if (header.getInt(0) != MAGIC || header.getShort(CLASS) != CLASS_64_LITTLE_ENDIAN) {
                throw new IOException(path + " is not a 64-bit little-endian ELF library");
            }
            return opened;
        } catch (IOException | RuntimeException e) {
            file.close();
            throw e;
        }
    }

    /**
     * The bytes between two exported symbols.
     *
     * @return empty unless both are exported
     * @throws IOException if the file cannot be read, or contradicts itself
     */
    Optional<ByteBuffer> between(String start, String end) throws IOException {
        try {
            OptionalLong from = address(start);
            OptionalLong to = address(end);
            if (from.isEmpty() || to.isEmpty()) {
                return Optional.empty();
            }
            long bytes = to.getAsLong() - from.getAsLong();
            return Optional.of(read(offset(from.getAsLong(), bytes), bytes));
        } catch (IndexOutOfBoundsException e) {
            throw new IOException(path + " is inconsistent: " + e, e);
        }
    }

    private OptionalLong address(String name) throws IOException {
        ByteBuffer header = read(0, 64);
        ByteBuffer sections = table(header, SECTIONS, SECTION_SIZE, SECTION_COUNT);
        int size = size(header, SECTION_SIZE);
        for (int at = 0; at < sections.limit(); at += size) {
            if (sections.getInt(at + 4) == DYNAMIC_SYMBOLS) {
                ByteBuffer symbols = section(sections, at);
                ByteBuffer names = section(sections, sections.getInt(at + 0x28) * size);
                for (int symbol = 0; symbol < symbols.limit(); symbol += SYMBOL_BYTES) {
                    boolean defined = symbols.getShort(symbol + 6) != 0;
                    if (defined && isAt(names, symbols.getInt(symbol), name)) {
                        return OptionalLong.of(symbols.getLong(symbol + 8));
                    }
                }
            }
        }
        return OptionalLong.empty();
    }

    private ByteBuffer section(ByteBuffer sections, int at) throws IOException {
        return read(sections.getLong(at + 0x18), sections.getLong(at + 0x20));
    }

    private static boolean isAt(ByteBuffer names, int at, String name) {
        byte[] wanted = name.getBytes(StandardCharsets.US_ASCII);
        if (at + wanted.length >= names.limit() || names.get(at + wanted.length) != 0) {
            return false;
        }
        for (int i = 0; i < wanted.length; i++) {
            if (names.get(at + i) != wanted[i]) {
                return false;
            }
        }
        return true;
    }

    /** The offset in the file of the bytes that the linker maps to an address. */
    private long offset(long address, long bytes) throws IOException {
        ByteBuffer header = read(0, 64);
        ByteBuffer segments = table(header, SEGMENTS, SEGMENT_SIZE, SEGMENT_COUNT);
        for (int at = 0; at < segments.limit(); at += size(header, SEGMENT_SIZE)) {
            long from = segments.getLong(at + 0x10);
            long size = segments.getLong(at + 0x20);
            if (segments.getInt(at) == LOADED_SEGMENT
                    && address >= from
                    && bytes >= 0
                    && address - from <= size - bytes) {
                return segments.getLong(at + 0x08) + address - from;
            }
        }
        throw new IOException(path + " has nothing at the address of its kernels");
    }

    private ByteBuffer table(ByteBuffer header, int offset, int entrySize, int count)
            throws IOException {
        int entries = Short.toUnsignedInt(header.getShort(count));
        return read(header.getLong(offset), (long) size(header, entrySize) * entries);
    }

    private int size(ByteBuffer header, int offset) throws IOException {
        int size = Short.toUnsignedInt(header.getShort(offset));
        if (size < SMALLEST_ENTRY) {
            throw new IOException(path + " has entries of " + size + " bytes in its tables");
        }
        return size;
    }

    private ByteBuffer read(long offset, long bytes) throws IOException {
        if (offset < 0 || bytes < 0 || bytes > file.size() - offset) {
            throw new IOException(path + " is truncated");
        }
        ByteBuffer read = ByteBuffer.allocate(Math.toIntExact(bytes));
        while (read.hasRemaining()) {
            if (file.read(read, offset + read.position()) < 0) {
                throw new IOException(path + " became shorter");
            }
        }
        return read.flip().order(ByteOrder.LITTLE_ENDIAN);
    }

    @Override
    public void close() throws IOException {
        file.close();
    }
}
