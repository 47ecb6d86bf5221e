package org.jccl.store;

import java.nio.ByteBuffer;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.ToLongFunction;

/**
 * What a key of a {@link ReplicatedStore} holds. Arrays are not modified.
 *
 * @param value the value, or empty if the key was never set, or was deleted
 * @param last the last addition or append of each client, by its number
 */
record Content(Optional<byte[]> value, Map<Long, Made> last) {

    /** A key that was never set. */
    static final Content MISSING = new Content(Optional.empty(), Map.of());

    private static final int MADE_BYTES = 3 * Long.BYTES;

    /**
     * An operation that must not be made twice if its result is lost.
     *
     * @param operation its number on the client
     * @param result its result
     */
    record Made(long operation, long result) {}

    static Content of(byte[] value) {
        return new Content(Optional.of(value), Map.of());
    }

    /**
     * Returns this content after an operation of a client.
     *
     * @param change changes the only key, which has an empty name
     */
    Content after(long client, long operation, ToLongFunction<KeySpace> change) {
        Made before = last.get(client);
        if (before != null && before.operation() == operation) {
            return this;
        }
        KeySpace key = new KeySpace();
        value.ifPresent(old -> key.set("", old));
        Map<Long, Made> made = new TreeMap<>(last);
        made.put(client, new Made(operation, change.applyAsLong(key)));
        return new Content(Optional.of(key.get("")), made);
    }

    int bytes() {
        return 1 + Integer.BYTES + last.size() * MADE_BYTES + value.orElse(new byte[0]).length;
    }

    void write(ByteBuffer to) {
        to.put((byte) (value.isPresent() ? 1 : 0)).putInt(last.size());
        last.forEach(
                (client, made) ->
                        to.putLong(client).putLong(made.operation()).putLong(made.result()));
        value.ifPresent(to::put);
    }

    /** Reads all that is left. */
    static Content read(ByteBuffer from) {
        boolean present = from.get() == 1;
        Map<Long, Made> last = new TreeMap<>();
        for (int count = from.getInt(); count > 0; count--) {
            last.put(from.getLong(), new Made(from.getLong(), from.getLong()));
        }
        byte[] value = new byte[from.remaining()];
        from.get(value);
        return new Content(present ? Optional.of(value) : Optional.empty(), last);
    }
}
