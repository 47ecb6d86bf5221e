package org.jccl.internal.diagnosis;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.LongFunction;
import org.jccl.FailureContext;
import org.jccl.JcclException;
import org.jccl.MismatchException;
import org.jccl.Store;
import org.jccl.internal.operation.StuckOperation;

/**
 * What ranks write in the store about operations that are stuck, and how they compare it. Guarded
 * by the monitor of the {@link DiagnosisStore}, except {@link #isWritten}.
 */
final class StuckOperations {

    private static final int RANKS_NAMED = 16;

    /** Operations written or deleted at a tick: the watchdog has deadlines to keep meanwhile. */
    private static final int AT_ONCE = 64;

    /** Operations that a root may have got through while others are in the first of them. */
    private static final int LOOK_BACK = 4;

    private final int rank;
    private final int size;
    private final Set<String> written = new HashSet<>();

    /** Whether {@link #written} has any, for threads that must not wait for the monitor. */
    private volatile boolean wrote;

    StuckOperations(int rank, int size) {
        this.rank = rank;
        this.size = size;
    }

    /** Whether the store has operations of this rank. */
    boolean isWritten() {
        return wrote;
    }

    /** Forgets what was written, since the store may be gone. */
    void clear() {
        written.clear();
        wrote = false;
    }

    /** Deletes what was written about operations that have ended since. */
    void forgetOthers(Store store, List<StuckOperation> stuckOperations) {
        if (written.isEmpty()) {
            return;
        }
        Set<String> stuck = new HashSet<>();
        stuckOperations.forEach(operation -> stuck.add(operation.key()));
        List<String> ended = written.stream().filter(key -> !stuck.contains(key)).toList();
        for (String key : ended.subList(0, Math.min(ended.size(), AT_ONCE))) {
            store.deleteKey(key);
            written.remove(key);
        }
        wrote = !written.isEmpty();
        if (!wrote) {
            store.deleteKey("position/" + rank);
        }
    }

    /** The operations that are not in the store yet, a few at a time. */
    List<StuckOperation> nextToCompare(List<StuckOperation> stuckOperations) {
        return stuckOperations.stream()
                .filter(each -> !each.key().isEmpty() && !written.contains(each.key()))
                .limit(AT_ONCE)
                .toList();
    }

    /**
     * Writes an operation, or compares it with what another rank wrote under its number.
     *
     * @param issuedBefore descriptions of the collectives before one, from the newest on
     * @return the oldest difference, if there is one
     */
    Optional<JcclException> compare(
            Store store, StuckOperation operation, LongFunction<List<String>> issuedBefore) {
        written.add(operation.key());
        wrote = true;
        FailureContext context = operation.context();
        store.set("position/" + rank, bytes(context.sequence() + " " + context.operation()));
        List<String> mine = new ArrayList<>();
        mine.add(operation.text());
        if (operation.collective()) {
            mine.addAll(issuedBefore.apply(context.sequence()));
        }
        String own = rank + "\n" + String.join("\n", mine);
        String[] first =
                text(store.compareSet(operation.key(), new byte[0], bytes(own))).split("\n");
        // The oldest difference is the cause of the others.
        for (int back = Math.min(mine.size(), first.length - 1) - 1; back >= 0; back--) {
            if (!mine.get(back).equals(first[back + 1])) {
                return Optional.of(
                        mismatch(operation, back, mine.get(back), first[0], first[back + 1]));
            }
        }
        return Optional.empty();
    }

    /** This rank may have got through the operation in which others are, as roots do. */
    Optional<JcclException> compareEarlier(
            Store store, StuckOperation operation, LongFunction<List<String>> issuedBefore) {
        long sequence = operation.context().sequence();
        List<String> earlier = issuedBefore.apply(sequence);
        for (int back = 1; back <= Math.min(earlier.size(), LOOK_BACK); back++) {
            String key = StuckOperation.collectiveKey(sequence - back);
            if (store.check(List.of(key))) {
                String[] first = text(store.get(key)).split("\n");
                String mine = earlier.get(back - 1);
                if (first.length > 1 && !mine.equals(first[1])) {
                    return Optional.of(mismatch(operation, back, mine, first[0], first[1]));
                }
            }
        }
        return Optional.empty();
    }

    private MismatchException mismatch(
            StuckOperation operation, int back, String mine, String otherRank, String theirs) {
        return new MismatchException(
                operation.context(),
                "rank "
                        + rank
                        + " has "
                        + mine
                        + " where rank "
                        + otherRank
                        + " has "
                        + theirs
                        + ", "
                        + (back == 0
                                ? operation.title()
                                : "as operation " + (operation.context().sequence() - back))
                        + "; all ranks must issue the same operations in the same order");
    }

    /** The number of the operation that another rank waits in, if it has written that. */
    OptionalLong positionOf(Store store, int other) {
        String key = "position/" + other;
        return store.check(List.of(key))
                ? OptionalLong.of(Long.parseLong(text(store.get(key)).split(" ")[0]))
                : OptionalLong.empty();
    }

    /** Where the other ranks are, as far as they have written it. */
    String positions(Store store) {
        List<String> lines = new ArrayList<>();
        for (int other = 0; other < Math.min(size, RANKS_NAMED); other++) {
            if (other == rank) {
                continue;
            }
            String key = "position/" + other;
            boolean known = store.check(List.of(key));
            lines.add(
                    known
                            ? "rank "
                                    + other
                                    + " was last stuck in operation "
                                    + text(store.get(key))
                            : "rank " + other + " has not said that it waits for anything");
        }
        return String.join("; ", lines);
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static String text(byte[] bytes) {
        return new String(bytes, StandardCharsets.UTF_8);
    }
}
