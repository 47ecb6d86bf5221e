package org.jccl.gloo;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;

/**
 * The announcement of a rank to its peers.
 *
 * @param host the rank's host, to distinguish hosts
 * @param address the numeric address on which it listens
 * @param onlyLocal whether only its own host can reach that address
 * @param port gloo's form of the address and the port, which all peers share
 * @param firstNumber the number with which rank 0 introduces itself there; the other ranks use the
 *     following numbers. It is random, so that a process that connects to the wrong listener is not
 *     taken for a rank
 * @param encrypted whether the rank's connections are
 * @param numbers the numbers of all ranks if they are not consecutive, otherwise empty
 */
record Announcement(
        String host,
        String address,
        boolean onlyLocal,
        byte[] port,
        long firstNumber,
        boolean encrypted,
        List<Long> numbers) {

    /** Size of a {@code sockaddr_storage} and an unused number. */
    static final int PORT_BYTES = 136;

    /** Returns the number with which a rank introduces itself. */
    long number(int rank) {
        return numbers.isEmpty() ? firstNumber + rank : numbers.get(rank);
    }

    /** Returns the bytes with which a rank connects. */
    byte[] endpoint(int rank) {
        return ByteBuffer.allocate(port.length + Long.BYTES)
                .order(ByteOrder.LITTLE_ENDIAN)
                .put(port)
                .putLong(number(rank))
                .array();
    }
}
