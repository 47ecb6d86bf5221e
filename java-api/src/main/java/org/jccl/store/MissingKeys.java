package org.jccl.store;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jccl.Store;
import org.jccl.StoreTimeoutException;
import org.jccl.spi.Durations;

/** Finds out which of many keys are not there, for the message of a failed wait. */
final class MissingKeys {

    /** More names than this do not help a reader. */
    private static final int MOST_NAMED = 8;

    private MissingKeys() {}

    /** The failure of a wait for keys, naming those that are missing. */
    static StoreTimeoutException timeout(Store store, List<String> keys, Duration after) {
        List<String> missing = new ArrayList<>();
        find(store, keys, missing);
        return new StoreTimeoutException(
                "Waited %s for %d key(s) on %s; not there: %s. Check that the ranks that set them are alive and use the same store and prefix, or wait longer"
                        .formatted(Durations.text(after), keys.size(), store, text(missing)),
                null);
    }

    /** Halves the list where something is missing, so that few requests find few keys. */
    private static void find(Store store, List<String> keys, List<String> missing) {
        if (missing.size() >= MOST_NAMED || keys.isEmpty() || store.check(keys)) {
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
            return "none any more, they came right after the timeout";
        }
        return String.join(", ", missing) + (missing.size() >= MOST_NAMED ? ", ..." : "");
    }
}
