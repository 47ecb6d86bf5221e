package org.jccl.store;

import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * Collects a known number of bytes that may arrive in pieces. Memory grows with the received bytes,
 * so that a client cannot reserve memory by announcing a large length.
 */
final class IncomingBytes {

    private static final int FIRST_BYTES = 16 << 10;

    private final int wanted;
    private byte[] bytes;
    private int filled;

    IncomingBytes(int wanted) {
        this.wanted = wanted;
        this.bytes = new byte[Math.min(wanted, FIRST_BYTES)];
    }

    /** Reads up to the missing number of bytes. Returns whether all bytes are there. */
    boolean fill(ByteBuffer from) {
        while (filled < wanted && from.hasRemaining()) {
            if (filled == bytes.length) {
                bytes = Arrays.copyOf(bytes, (int) Math.min(wanted, 2L * bytes.length));
            }
            int count = Math.min(from.remaining(), bytes.length - filled);
            from.get(bytes, filled, count);
            filled += count;
        }
        return filled == wanted;
    }

    /** Returns all bytes, once {@link #fill} has returned true. */
    byte[] bytes() {
        return bytes;
    }
}
