package org.jccl.spi;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.IntFunction;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.jccl.JcclException;
import org.jccl.Store;
import org.jccl.StoreTimeoutException;

/**
 * Explains a wait for other ranks that failed: lists the ranks that have not arrived. Each answer
 * takes {@link Arrivals#GRACE_PERIOD} at most, because the wait took too long already.
 */
final class MissingRanks {

    private static final String SILENT =
            "the store does not answer, so nobody knows which have not come";

    /** How much earlier than others a rank may give up. Ranks start to wait at about one time. */
    private static final Duration GIVING_UP_TIME = Duration.ofSeconds(1);

    private final Store store;
    private final int size;
    private final IntFunction<String> key;

    MissingRanks(Store store, int size, IntFunction<String> key) {
        this.store = store;
        this.size = size;
        this.key = key;
    }

    /** Lists those of some ranks that have not arrived. */
    String among(List<Integer> ranks, StoreTimeoutException late) {
        return SilentStore.isCauseOf(late)
                ? SILENT
                : withinGracePeriod(() -> describe(Arrivals.missing(store, ranks, key)));
    }

    /** Says that this rank gives up, then lists ranks that did not arrive or do not give up. */
    String giveUp(int rank) {
        return withinGracePeriod(
                () -> {
                    store.set(gaveUpKey(rank), new byte[0]);
                    List<Integer> missing = Arrivals.missing(store, all(), key);
                    return missing.isEmpty() ? awaitOthersGivingUp() : describe(missing);
                });
    }

    /** The same, but asks nothing of a store that did not answer. */
    String giveUp(int rank, Throwable late) {
        return SilentStore.isCauseOf(late) ? SILENT : giveUp(rank);
    }

    String allArrived() {
        return "all " + size + " have come by now";
    }

    private String describe(List<Integer> missing) {
        return missing.isEmpty()
                ? allArrived()
                : "ranks " + Arrivals.ranks(missing) + " of " + size + " have not come";
    }

    private String awaitOthersGivingUp() {
        List<Integer> silent = List.of();
        try {
            store.await(all().stream().map(this::gaveUpKey).toList(), GIVING_UP_TIME);
        } catch (StoreTimeoutException e) {
            silent = Arrivals.missing(store, all(), this::gaveUpKey); // none if the last was late
        }
        return "all "
                + size
                + " have come, and "
                + (silent.isEmpty() ? "have" : "all but ranks " + Arrivals.ranks(silent) + " have")
                + " given up";
    }

    private String gaveUpKey(int rank) {
        return key.apply(rank) + "/gave-up";
    }

    private List<Integer> all() {
        return IntStream.range(0, size).boxed().toList();
    }

    private static String withinGracePeriod(Supplier<String> explanation) {
        AtomicReference<String> found = new AtomicReference<>();
        Runnable look = () -> found.set(explanation.get());
        try {
            if (BoundedCall.run("jccl-absent-ranks", look, Arrivals.GRACE_PERIOD)) {
                return found.get();
            }
        } catch (JcclException e) {
            CleanUp.failed("looking for ranks that have not come", e);
        }
        return SILENT;
    }
}
