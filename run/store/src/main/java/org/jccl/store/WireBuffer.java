package org.jccl.store;

import java.nio.BufferOverflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;

/** A growing message in wire format: little-endian, with 64-bit lengths and counts. */
final class WireBuffer {

    /** Largest message; beyond it the {@code put} methods throw {@link BufferOverflowException}. */
    static final int MAX_BYTES = 256 << 20;

    private static final int FIRST_BYTES = 64;

    private ByteBuffer bytes = ByteBuffer.allocate(FIRST_BYTES).order(ByteOrder.LITTLE_ENDIAN);

    /** Starts a request. */
    static WireBuffer request(Opcode opcode) {
        return new WireBuffer().putByte(opcode.number());
    }

    WireBuffer putByte(byte value) {
        room(Byte.BYTES).put(value);
        return this;
    }

    WireBuffer putInt(int value) {
        room(Integer.BYTES).putInt(value);
        return this;
    }

    WireBuffer putLong(long value) {
        room(Long.BYTES).putLong(value);
        return this;
    }

    /** Appends bytes without a length. */
    WireBuffer putRaw(byte[] value) {
        room(value.length).put(value);
        return this;
    }

    /** Appends the length and the bytes. */
    WireBuffer putBytes(byte[] value) {
        return putLong(value.length).putRaw(value);
    }

    /** Appends a count, and then each element with its length. */
    WireBuffer putList(List<byte[]> values) {
        putLong(values.size());
        values.forEach(this::putBytes);
        return this;
    }

    /** Returns the message for sending. The buffer must not be changed afterwards. */
    ByteBuffer finish() {
        return bytes.flip();
    }

    private ByteBuffer room(int needed) {
        if (bytes.remaining() < needed) {
            long size = (long) bytes.position() + needed;
            if (size > MAX_BYTES) {
                throw new BufferOverflowException();
            }
            int capacity = (int) Math.min(MAX_BYTES, Math.max(2L * bytes.capacity(), size));
            bytes = ByteBuffer.allocate(capacity).order(ByteOrder.LITTLE_ENDIAN).put(bytes.flip());
        }
        return bytes;
    }
}
