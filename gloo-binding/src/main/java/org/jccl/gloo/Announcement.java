package org.jccl.gloo;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;

/**
 * What a rank tells its peers.
 *
 * @param host of the rank, to tell hosts apart
 * @param address on which it listens, numeric
 * @param onlyLocal whether no other host reaches that address
 * @param port gloo's own form of the address and the port, which is one for all peers
 * @param firstNumber with which rank 0 introduces itself there, and the others with those that
 *     follow; drawn at random, so that whoever means another listener is not taken for a rank
 * @param numbers with which each rank does so where they do not follow each other, else empty
 */
record Announcement(
        String host,
        String address,
        boolean onlyLocal,
        byte[] port,
        long firstNumber,
        List<Long> numbers) {

    /** A {@code sockaddr_storage}, and a number that is not used. */
    static final int PORT_BYTES = 136;

    /** With which a rank introduces itself. */
    long number(int rank) {
        return numbers.isEmpty() ? firstNumber + rank : numbers.get(rank);
    }

    /** The bytes with which a rank connects. */
    byte[] place(int rank) {
        return ByteBuffer.allocate(port.length + Long.BYTES)
                .order(ByteOrder.LITTLE_ENDIAN)
                .put(port)
                .putLong(number(rank))
                .array();
    }
}
