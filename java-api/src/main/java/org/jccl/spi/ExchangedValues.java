package org.jccl.spi;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The one value of a store that ends an exchange for all ranks: either what every rank wrote, or
 * the reason why one rank stopped waiting.
 */
final class ExchangedValues {

    /** Stands instead of the first length if a rank stopped waiting. */
    private static final int STOPPED = -1;

    private ExchangedValues() {}

    static byte[] encode(List<byte[]> values) {
        int length = values.stream().mapToInt(value -> Integer.BYTES + value.length).sum();
        ByteBuffer all = ByteBuffer.allocate(length);
        values.forEach(value -> all.putInt(value.length).put(value));
        return all.array();
    }

    static byte[] encodeStopped(int rank, String why) {
        byte[] text = ("rank " + rank + " waits no longer: " + why).getBytes(UTF_8);
        return ByteBuffer.allocate(Integer.BYTES + text.length).putInt(STOPPED).put(text).array();
    }

    /** Why a rank stopped waiting, or empty if the value has what every rank wrote. */
    static Optional<String> stopped(byte[] all) {
        return all.length >= Integer.BYTES && ByteBuffer.wrap(all).getInt() == STOPPED
                ? Optional.of(new String(all, Integer.BYTES, all.length - Integer.BYTES, UTF_8))
                : Optional.empty();
    }

    /** What each rank wrote, or empty if the bytes are not the values of that many ranks. */
    static Optional<List<byte[]>> decode(byte[] all, int size) {
        ByteBuffer in = ByteBuffer.wrap(all);
        List<byte[]> values = new ArrayList<>(size);
        while (in.remaining() >= Integer.BYTES) {
            int length = in.getInt();
            if (length < 0 || length > in.remaining()) {
                break;
            }
            byte[] value = new byte[length];
            in.get(value);
            values.add(value);
        }
        return values.size() == size && !in.hasRemaining() ? Optional.of(values) : Optional.empty();
    }
}
