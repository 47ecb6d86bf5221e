package org.jccl.launch;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;
import org.jccl.Store;

/** Texts as values of a store. */
final class StoredText {

    private StoredText() {}

    static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    static String text(byte[] bytes) {
        return new String(bytes, StandardCharsets.UTF_8);
    }

    /** Returns the value of a key that is never deleted, or empty if the key is missing. */
    static Optional<String> find(Store store, String key) {
        return store.check(List.of(key)) ? Optional.of(text(store.get(key))) : Optional.empty();
    }
}
