package org.jccl.gloo;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jccl.FailureContext;
import org.jccl.MismatchException;

/**
 * The announcement of PyTorch's ranks: the host name and gloo's address of the rank's only port,
 * each preceded by its length. For each rank, the number with which it introduces itself there
 * follows. Without those numbers, a rank introduces itself with its rank. All integers are 64-bit
 * little-endian.
 */
final class TorchAnnouncementFormat implements AnnouncementFormat {

    private static final int FAMILY_IPV4 = 2;
    private static final int FAMILY_IPV6 = 10;
    private static final int IPV4_OFFSET = 4;
    private static final int IPV6_OFFSET = 8;

    @Override
    public String key(int rank) {
        return "0/" + rank; // of the first network interface, the only one used
    }

    @Override
    public Optional<String> newKey(int rank) {
        return Optional.empty();
    }

    @Override
    public boolean meets() {
        return false;
    }

    @Override
    public byte[] encode(Announcement announcement, int size) {
        byte[] host = announcement.host().getBytes(StandardCharsets.UTF_8);
        ByteBuffer value =
                littleEndian(
                        new byte
                                [2 * Long.BYTES
                                        + host.length
                                        + Announcement.PORT_BYTES
                                        + size * Long.BYTES]);
        value.putLong(host.length).put(host);
        value.putLong(Announcement.PORT_BYTES).put(announcement.port());
        for (int rank = 0; rank < size; rank++) {
            value.putLong(announcement.number(rank));
        }
        return value.array();
    }

    @Override
    public Announcement decode(byte[] value, int size) {
        ByteBuffer in = littleEndian(value);
        try {
            String host = new String(sized(in), StandardCharsets.UTF_8);
            byte[] address = sized(in);
            boolean numbered = in.remaining() == size * Long.BYTES;
            if (address.length != Announcement.PORT_BYTES || !numbered && in.hasRemaining()) {
                throw foreign(value);
            }
            List<Long> numbers = new ArrayList<>();
            while (in.hasRemaining()) {
                numbers.add(in.getLong());
            }
            InetAddress where = addressOf(littleEndian(address));
            return new Announcement(
                    host,
                    where.getHostAddress(),
                    where.isLoopbackAddress(),
                    address,
                    0,
                    false,
                    numbers);
        } catch (BufferUnderflowException | UnknownHostException e) {
            throw foreign(value);
        }
    }

    private static byte[] sized(ByteBuffer in) {
        long length = in.getLong();
        if (length < 0 || length > in.remaining()) {
            throw new BufferUnderflowException();
        }
        byte[] bytes = new byte[(int) length];
        in.get(bytes);
        return bytes;
    }

    private static InetAddress addressOf(ByteBuffer socketAddress) throws UnknownHostException {
        int family = socketAddress.getShort(0);
        boolean ipv4 = family == FAMILY_IPV4;
        if (!ipv4 && family != FAMILY_IPV6) {
            throw new UnknownHostException("address family " + family);
        }
        byte[] bytes = new byte[ipv4 ? 4 : 16];
        socketAddress.get(ipv4 ? IPV4_OFFSET : IPV6_OFFSET, bytes);
        return InetAddress.getByAddress(bytes);
    }

    private static ByteBuffer littleEndian(byte[] bytes) {
        return ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    }

    private static MismatchException foreign(byte[] value) {
        return new MismatchException(
                FailureContext.NONE,
                "gloo: the announcement of a rank in "
                        + value.length
                        + " bytes does not have the format of PyTorch 2.13; all ranks must use that"
                        + " release or a compatible one");
    }
}
