package org.jccl.internal.group;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.jccl.FailureContext;
import org.jccl.JcclException;
import org.jccl.Store;
import org.jccl.spi.Arrivals;

/** How the ranks of a group exchange their colors and keys, through the store. */
final class SplitAgreement {

    private record Entry(int rank, int color, int key) {}

    private final Arrivals arrivals;
    private final String left;
    private final FailureContext context;

    /**
     * Creates the agreement of one split.
     *
     * @param prefix the prefix of the keys of this split
     */
    SplitAgreement(Store store, String prefix, FailureContext context, int size) {
        this.arrivals = new Arrivals(store, size, rank -> prefix + rank);
        this.left = prefix + "left";
        this.context = context;
    }

    /**
     * Passes on the color and key of this rank, and waits for those of the others.
     *
     * @param checkGroup called now and then; what it throws ends the wait
     * @return the ranks of the same color in the order of their keys, then of their ranks
     * @throws org.jccl.OperationTimeoutException if not all ranks come in time; names the missing
     *     ones
     * @throws org.jccl.BootstrapException if the store contains something else; names it
     */
    List<Integer> enter(int color, int key, Duration timeout, Runnable checkGroup) {
        try {
            byte[] own = (color + " " + key).getBytes(StandardCharsets.UTF_8);
            List<byte[]> values =
                    arrivals.exchange(context.rank(), own, timeout, "split", checkGroup);
            arrivals.leave(left, List.of());
            return ranks(color, values);
        } catch (JcclException e) {
            throw e.at(context);
        }
    }

    private List<Integer> ranks(int color, List<byte[]> values) {
        List<Entry> entries = new ArrayList<>();
        for (int rank = 0; rank < values.size(); rank++) {
            String said = Arrivals.text(values.get(rank));
            String[] parts = said.split(" ", -1);
            if (parts.length != 2) {
                throw arrivals.corrupt(rank, said, "a color and a key");
            }
            int itsColor = number(rank, parts[0]);
            entries.add(new Entry(rank, itsColor, number(rank, parts[1])));
        }
        return entries.stream()
                .filter(entry -> entry.color() == color)
                .sorted(Comparator.comparingInt(Entry::key).thenComparingInt(Entry::rank))
                .map(Entry::rank)
                .toList();
    }

    private int number(int rank, String text) {
        return arrivals.number(rank, text, Integer.MIN_VALUE, Integer.MAX_VALUE);
    }
}
