package org.jccl.store;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import org.jccl.Store;
import org.jccl.StoreTimeoutException;
import org.jccl.spi.Durations;

/**
 * A barrier of plain keys with PyTorch's names. Each participant adds 1 to {@code
 * <key>/num_members}, the last one sets {@code <key>/last_member}, and all wait for that key.
 */
final class CountingBarrier {

    private CountingBarrier() {}

    static void await(Store store, String key, int worldSize, Duration timeout) {
        StoreArguments.key(key);
        StoreArguments.worldSize(worldSize);
        StoreArguments.timeout(timeout);
        String members = key + "/num_members";
        String last = key + "/last_member";
        if (store.add(members, 1) == worldSize) {
            store.set(last, "1".getBytes(StandardCharsets.US_ASCII));
        }
        try {
            store.await(List.of(last), timeout);
        } catch (StoreTimeoutException e) {
            throw timeout(store, key, store.add(members, 0), worldSize, timeout, e);
        }
    }

    /** Returns the exception of a failed barrier; its message contains the number of arrivals. */
    static StoreTimeoutException timeout(
            Store store,
            String key,
            long arrived,
            int worldSize,
            Duration timeout,
            Throwable cause) {
        return new StoreTimeoutException(
                "Barrier '%s' on %s: %d of %d arrived within %s. Check that the other ranks are alive. A key can be used for one barrier only, so retry with another key"
                        .formatted(key, store, arrived, worldSize, Durations.text(timeout)),
                cause);
    }
}
