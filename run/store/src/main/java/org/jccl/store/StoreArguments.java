package org.jccl.store;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import org.jccl.FailureContext;
import org.jccl.Store;
import org.jccl.TlsCredentials;
import org.jccl.UsageException;

/**
 * Argument checks, the same for every kind of store, so that a program works with any of them. The
 * limits are those of PyTorch's server.
 */
final class StoreArguments {

    /** Maximum bytes of a key in UTF-8, including the slash before it. */
    static final int MAX_KEY_BYTES = 8192;

    /** Maximum bytes of a value. */
    static final int MAX_VALUE_BYTES = 8 << 20;

    /** Maximum number of keys in one call. */
    static final int MAX_KEYS = 131_072;

    private static final int MAX_BYTES_PER_CHAR = 3;

    private StoreArguments() {}

    static TlsCredentials credentials(TlsCredentials credentials) {
        if (credentials == null) {
            throw usage(
                    "The TLS credentials are null; use the method without credentials for a plain"
                            + " connection");
        }
        return credentials;
    }

    static String key(String key) {
        if (key == null) {
            throw usage("The key is null; pass a name");
        }
        if (key.length() >= MAX_KEY_BYTES / MAX_BYTES_PER_CHAR
                && key.getBytes(StandardCharsets.UTF_8).length >= MAX_KEY_BYTES) {
            throw usage(
                    "The key '%s...' has more than %d bytes; use a shorter one"
                            .formatted(key.substring(0, 40), MAX_KEY_BYTES - 1));
        }
        return key;
    }

    static byte[] value(String key, byte[] value) {
        if (value == null) {
            throw usage("The value for key '%s' is null; pass an empty array".formatted(key));
        }
        if (value.length > MAX_VALUE_BYTES) {
            throw usage(
                    "The value for key '%s' has %d bytes, more than %d; a store is for addresses and ids, send bulk data through the group"
                            .formatted(key, value.length, MAX_VALUE_BYTES));
        }
        return value;
    }

    static List<String> keys(List<String> keys) {
        if (keys == null) {
            throw usage("The list of keys is null; pass an empty one");
        }
        if (keys.size() > MAX_KEYS) {
            throw usage(
                    "The list has %d keys, more than %d; make several calls"
                            .formatted(keys.size(), MAX_KEYS));
        }
        keys.forEach(StoreArguments::key);
        return keys;
    }

    static void pairs(List<String> keys, List<byte[]> values) {
        keys(keys);
        if (values == null || values.size() != keys.size()) {
            throw usage(
                    "There are %d keys and %s values; pass one value per key"
                            .formatted(keys.size(), values == null ? "null" : values.size()));
        }
        for (int i = 0; i < keys.size(); i++) {
            value(keys.get(i), values.get(i));
        }
    }

    static Duration timeout(Duration timeout) {
        if (timeout == null || timeout.isNegative()) {
            throw usage("The timeout is %s; pass a duration of zero or more".formatted(timeout));
        }
        return timeout;
    }

    static int worldSize(int worldSize) {
        if (worldSize < 1) {
            throw usage("The world size is %d; it must be at least 1".formatted(worldSize));
        }
        return worldSize;
    }

    static UsageException usage(String message) {
        return new UsageException(FailureContext.NONE, message);
    }

    /** Returns the exception for a call on a closed store. */
    static UsageException closed(Store store) {
        return usage(store + " is closed; keep it open until every thread is done with it");
    }

    /** Returns the exception of {@code add} if the value is not a number. */
    static UsageException notANumber(Store store, String key) {
        return usage(
                "add(\"%s\") on %s: the value there is not a decimal number; use another key for the counter"
                        .formatted(key, store));
    }

    /** Returns the exception of {@code append} if the value would exceed the limit. */
    static UsageException tooLong(Store store, String key) {
        return usage(
                "append(\"%s\") on %s: the value would have more than %d bytes; use another key"
                        .formatted(key, store, MAX_VALUE_BYTES));
    }
}
