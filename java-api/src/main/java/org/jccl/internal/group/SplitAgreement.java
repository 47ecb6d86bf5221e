package org.jccl.internal.group;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.IntStream;
import org.jccl.FailureContext;
import org.jccl.JcclException;
import org.jccl.OperationTimeoutException;
import org.jccl.Store;
import org.jccl.StoreTimeoutException;
import org.jccl.spi.BoundedCall;
import org.jccl.spi.CleanUp;
import org.jccl.spi.Durations;

/** How the ranks of a group learn each other's colors and keys: through the store. */
final class SplitAgreement {

    private static final Duration LOOK_PATIENCE = Duration.ofSeconds(2);

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
                    context,
                    "split: not all ranks called it within "
                            + Durations.text(timeout)
                            + ": "
                            + missing(),
                    e);
        }
    }

    private String missing() {
        List<Integer> missing = new CopyOnWriteArrayList<>();
        Runnable look =
                () ->
                        IntStream.range(0, keys.size())
                                .filter(rank -> !store.check(List.of(keys.get(rank))))
                                .forEach(missing::add);
        try {
            // The time is over: what only explains must not take as long again.
            if (BoundedCall.run("jccl-split-missing", look, LOOK_PATIENCE)) {
                return "missing are " + missing;
            }
        } catch (JcclException e) {
            CleanUp.failed(context.toString(), e);
        }
        return "the store does not answer, so nobody knows which are missing";
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
