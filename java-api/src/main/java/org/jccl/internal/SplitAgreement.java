package org.jccl.internal;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;
import org.jccl.FailureContext;
import org.jccl.OperationTimeoutException;
import org.jccl.store.Store;
import org.jccl.store.StoreTimeoutException;

/** How the ranks of a group learn each other's colors and keys: through the store. */
final class SplitAgreement {

    private record Entry(int rank, int color, int key) {}

    private final Store store;
    private final String prefix;
    private final FailureContext context;
    private final List<String> keys;

    /**
     * Creates the agreement of one split.
     *
     * @param store of the group
     * @param prefix of this split's keys
     * @param context group and rank
     * @param size number of ranks
     */
    SplitAgreement(Store store, String prefix, FailureContext context, int size) {
        this.store = store;
        this.prefix = prefix;
        this.context = context;
        this.keys = IntStream.range(0, size).mapToObj(rank -> prefix + rank).toList();
    }

    /** Tells this rank's color and key, and waits for those of all others. */
    void enter(int color, int key, Duration timeout) {
        store.set(prefix + context.rank(), (color + " " + key).getBytes(StandardCharsets.UTF_8));
        try {
            store.await(keys, timeout);
        } catch (StoreTimeoutException e) {
            throw new OperationTimeoutException(
                    context, "split: not all ranks called it: " + e.reason(), e);
        }
    }

    /** Ranks of a color in the order of their keys, then of their ranks. */
    List<Integer> ranks(int color) {
        List<Entry> entries = new ArrayList<>();
        List<byte[]> values = store.multiGet(keys);
        for (int rank = 0; rank < keys.size(); rank++) {
            String[] parts = new String(values.get(rank), StandardCharsets.UTF_8).split(" ");
            entries.add(new Entry(rank, Integer.parseInt(parts[0]), Integer.parseInt(parts[1])));
        }
        return entries.stream()
                .filter(entry -> entry.color() == color)
                .sorted(Comparator.comparingInt(Entry::key).thenComparingInt(Entry::rank))
                .map(Entry::rank)
                .toList();
    }
}
