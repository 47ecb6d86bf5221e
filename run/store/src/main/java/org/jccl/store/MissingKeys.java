package org.jccl.store;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jccl.Store;
import org.jccl.StoreTimeoutException;
import org.jccl.spi.Durations;

/** Finds the missing keys among many, for the message of a failed wait. */
final class MissingKeys {

    /** Maximum number of keys in a message. */
    private static final int MAX_NAMED = 8;

    private MissingKeys() {}

    /** Returns the exception of a failed wait; its message names the missing keys. */
    static StoreTimeoutException timeout(Store store, List<String> keys, Duration after) {
        List<String> missing = new ArrayList<>();
        find(store, keys, missing);
        return new StoreTimeoutException(
                "Timed out after %s waiting for %d key(s) on %s. Missing keys: %s. Check that the ranks that set them are alive and use the same store and prefix, or wait longer"
                        .formatted(Durations.text(after), keys.size(), store, text(missing)),
                null);
    }

    /** Bisects the list, so that few requests find few missing keys. */
    private static void find(Store store, List<String> keys, List<String> missing) {
        if (missing.size() >= MAX_NAMED || keys.isEmpty() || store.check(keys)) {
            return;
        }
        if (keys.size() == 1) {
            missing.add(keys.get(0));
            return;
        }
        find(store, keys.subList(0, keys.size() / 2), missing);
        find(store, keys.subList(keys.size() / 2, keys.size()), missing);
    }

    private static String text(List<String> missing) {
        if (missing.isEmpty()) {
            return "none, they were set right after the timeout";
        }
        return String.join(", ", missing) + (missing.size() >= MAX_NAMED ? ", ..." : "");
    }
}
