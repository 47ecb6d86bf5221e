package org.jccl;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * One {@code bytes} object in Python's pickle format. A pickle is a program. Only the instructions
 * of such an object are accepted, and none is executed.
 */
final class PickledBytes {

    private static final byte PROTOCOL = (byte) 0x80;
    private static final byte FRAME = (byte) 0x95;
    private static final byte SHORT_BYTES = 'C';
    private static final byte BYTES = 'B';
    private static final byte LONG_BYTES = (byte) 0x8e;
    private static final byte MEMOIZE = (byte) 0x94;
    private static final byte SHORT_PUT = 'q';
    private static final byte STOP = '.';

    /** The first protocol with bytes. */
    private static final byte VERSION = 3;

    /** The longest pickle, in bytes: about the maximum size of a Java array. */
    static final int MAX_LENGTH = Integer.MAX_VALUE - 8;

    private static final int OVERHEAD = 8;

    private PickledBytes() {}

    /**
     * Encodes bytes.
     *
     * @return what Python's {@code pickle.loads} turns into {@code bytes}
     * @throws UsageException if it would be longer than {@link #MAX_LENGTH}
     */
    static byte[] encode(byte[] value) {
        if (value.length > MAX_LENGTH - OVERHEAD) {
            throw new UsageException(
                    FailureContext.NONE,
                    "an object of " + value.length + " bytes is too large; send it in parts");
        }
        ByteBuffer pickle =
                ByteBuffer.allocate(value.length + OVERHEAD).order(ByteOrder.LITTLE_ENDIAN);
        pickle.put(PROTOCOL).put(VERSION);
        return pickle.put(BYTES).putInt(value.length).put(value).put(STOP).array();
    }

    /**
     * Decodes a pickle of one {@code bytes} object.
     *
     * @throws UsageException if it contains something else
     */
    static byte[] decode(byte[] pickle) {
        ByteBuffer in = ByteBuffer.wrap(pickle).order(ByteOrder.LITTLE_ENDIAN);
        byte[] value = null;
        try {
            while (true) {
                byte instruction = in.get();
                switch (instruction) {
                    case PROTOCOL, SHORT_PUT -> in.get();
                    case FRAME -> in.getLong();
                    case MEMOIZE -> {}
                    case SHORT_BYTES -> value = read(in, in.get() & 0xff, value);
                    case BYTES -> value = read(in, in.getInt() & 0xffffffffL, value);
                    case LONG_BYTES -> value = read(in, in.getLong(), value);
                    case STOP -> {
                        if (value == null) {
                            throw notBytes("nothing");
                        }
                        return value;
                    }
                    default ->
                            throw notBytes(
                                    "instruction 0x" + Integer.toHexString(instruction & 0xff));
                }
            }
        } catch (BufferUnderflowException e) {
            throw notBytes("only " + pickle.length + " bytes and is incomplete");
        }
    }

    private static byte[] read(ByteBuffer in, long length, byte[] before) {
        if (before != null) {
            throw notBytes("several objects");
        }
        if (length < 0 || length > in.remaining()) {
            throw new BufferUnderflowException();
        }
        byte[] value = new byte[(int) length];
        in.get(value);
        return value;
    }

    private static UsageException notBytes(String found) {
        return new UsageException(
                FailureContext.NONE,
                "a rank sent an object that is not bytes (its pickle has %s); convert it to bytes before it is sent, for instance with json.dumps and encode"
                        .formatted(found));
    }
}
