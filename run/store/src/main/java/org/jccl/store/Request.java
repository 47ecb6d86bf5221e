package org.jccl.store;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * One request as the server received it.
 *
 * @param opcode the operation
 * @param parts its fields; for a list, all fields of all elements
 */
record Request(Opcode opcode, List<byte[]> parts) {

    byte[] bytes(int part) {
        return parts.get(part);
    }

    /** Returns a key as Latin-1 text, so that any bytes form a key. */
    String key(int part) {
        return new String(bytes(part), StandardCharsets.ISO_8859_1);
    }

    /** Returns all parts as keys. */
    List<String> keys() {
        List<String> keys = new ArrayList<>(parts.size());
        for (int i = 0; i < parts.size(); i++) {
            keys.add(key(i));
        }
        return keys;
    }

    int int32(int part) {
        return ByteBuffer.wrap(bytes(part)).order(ByteOrder.LITTLE_ENDIAN).getInt();
    }

    long int64(int part) {
        return ByteBuffer.wrap(bytes(part)).order(ByteOrder.LITTLE_ENDIAN).getLong();
    }
}
