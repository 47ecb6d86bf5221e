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
 * @param numbers for each rank that with which it introduces itself there; empty where all do so
 *     with their rank
 */
record Announcement(
        String host, String address, boolean onlyLocal, byte[] port, List<Long> numbers) {

    /** A {@code sockaddr_storage}, and a number that is not used. */
    static final int PORT_BYTES = 136;

    /** The bytes with which a rank connects. */
    byte[] place(int rank) {
        return ByteBuffer.allocate(port.length + Long.BYTES)
                .order(ByteOrder.LITTLE_ENDIAN)
                .put(port)
                .putLong(numbers.isEmpty() ? rank : numbers.get(rank))
                .array();
    }
}
