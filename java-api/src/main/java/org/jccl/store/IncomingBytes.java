package org.jccl.store;

import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * Gathers a known number of bytes from however many pieces they arrive in. Memory grows with what
 * has arrived, not with what was announced, so announcing much costs the other side the sending.
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

    /** Takes what it needs; returns whether all is there. */
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

    /** All bytes, once {@link #fill} has returned true. */
    byte[] bytes() {
        return bytes;
    }
}
