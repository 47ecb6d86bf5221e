package org.jccl.internal.diagnosis;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jccl.FailureContext;
import org.jccl.GroupAbortedException;
import org.jccl.JcclException;
import org.jccl.MismatchException;
import org.jccl.OperationTimeoutException;
import org.jccl.Store;
import org.jccl.StoreException;
import org.jccl.StoreTimeoutException;
import org.jccl.internal.operation.Operation;
import org.jccl.spi.Arrivals;
import org.jccl.spi.Durations;
import org.jccl.spi.OperationKind;

/**
 * Compares each collective with those of the other ranks through the store, before the library is
 * called. Some libraries return wrong numbers if the calls of the ranks differ. Each call then
 * takes a few requests to the store, and waits for the other ranks.
 *
 * <p>Every rank writes its call under the number of the call, and reads the calls of all ranks as
 * soon as they are there. A rank that has written a call has read all calls before it. Therefore
 * each rank may delete its previous call when it has read the current ones.
 */
public final class CallCheck {

    /** How long to wait for the others before asking whether the group has failed. */
    private static final Duration SLICE = Duration.ofMillis(200);

    private static final String NEXT_CALL = "\n";
    private static final String NEXT_COUNTS = "\t";
    private static final String NO_CALL = "no further call in its batch";

    private final Store store;
    private final int rank;
    private final int size;
    private final Duration timeout;

    /**
     * The thread whose call is compared, or has been and has no place in the order yet; or null.
     * Other threads have no order with it.
     */
    private final AtomicReference<Thread> caller = new AtomicReference<>();

    // Only the caller uses these.
    private long next;
    private long last = -1;

    /**
     * Creates it; nothing is written yet.
     *
     * @param store private to the group and backend, the same on every rank
     * @param rank in the group
     * @param size of the group
     * @param timeout how long to wait for the other ranks
     */
    public CallCheck(Store store, int rank, int size, Duration timeout) {
        this.store = store;
        this.rank = rank;
        this.size = size;
        this.timeout = timeout;
    }

    /**
     * Waits until all ranks have come to the calls of the same number, and compares them. If this
     * returns, calls of other threads are rejected until {@link #ordered}.
     *
     * @param collectives that are issued together, at least one
     * @param requireUsable throws when the group is closed or has failed meanwhile
     * @throws MismatchException when a rank has another call, or another thread is here
     * @throws OperationTimeoutException when a rank does not come to its call in time
     * @throws GroupAbortedException when the store cannot be asked
     */
    public void compare(List<Operation> collectives, Runnable requireUsable) {
        Thread own = Thread.currentThread();
        Thread other = caller.compareAndExchange(null, own);
        if (other != null) {
            throw new MismatchException(
                    FailureContext.NONE,
                    "thread '%s' issues %s while thread '%s' issues a collective of the same group, so their order may differ between ranks; order them by a lock that covers the call, or give each thread a group"
                            .formatted(
                                    own.getName(), collectives.get(0).describe(), other.getName()));
        }
        try {
            compareAlone(collectives, requireUsable);
        } catch (RuntimeException | Error e) {
            ordered();
            throw e;
        }
    }

    /** The calls that were compared last have their place in the order, or will not be made. */
    public void ordered() {
        caller.set(null);
    }

    private void compareAlone(List<Operation> collectives, Runnable requireUsable) {
        long number = next;
        next += collectives.size();
        String mine =
                collectives.stream().map(CallCheck::text).collect(Collectors.joining(NEXT_CALL));
        List<String[]> calls;
        try {
            store.set(key(number, rank), mine.getBytes(StandardCharsets.UTF_8));
            awaitAll(number, timeoutOf(collectives), requireUsable);
            calls =
                    store.multiGet(keys(number)).stream()
                            .map(bytes -> new String(bytes, StandardCharsets.UTF_8))
                            .map(text -> text.split(NEXT_CALL))
                            .toList();
            forgetLast(number);
        } catch (StoreException e) {
            throw new GroupAbortedException(
                    FailureContext.NONE,
                    "calls cannot be compared with those of the other ranks: " + e.reason(),
                    e);
        }
        compare(calls, number);
    }

    private Duration timeoutOf(List<Operation> collectives) {
        return Duration.ofNanos(collectives.get(0).timeoutNanos(timeout.toNanos()));
    }

    private void awaitAll(long number, Duration limit, Runnable requireUsable) {
        long deadline = System.nanoTime() + limit.toNanos();
        while (true) {
            requireUsable.run();
            try {
                store.await(keys(number), SLICE);
                return;
            } catch (StoreTimeoutException e) {
                // All may have come since.
                List<Integer> missing =
                        System.nanoTime() - deadline >= 0 ? missing(number) : List.of();
                if (!missing.isEmpty()) {
                    throw notCalledBy(missing, limit, number);
                }
            }
        }
    }

    private List<Integer> missing(long number) {
        return IntStream.range(0, size)
                .filter(peer -> !store.check(List.of(key(number, peer))))
                .boxed()
                .toList();
    }

    private OperationTimeoutException notCalledBy(
            List<Integer> ranks, Duration limit, long number) {
        return new OperationTimeoutException(
                FailureContext.NONE,
                "not called by ranks %s after %s, as operation %s; all ranks must issue the same operations, and either all or none of them must check calls"
                        .formatted(Arrivals.ranks(ranks), Durations.text(limit), number));
    }

    private void forgetLast(long number) {
        if (last >= 0) {
            store.deleteKey(key(last, rank));
        }
        last = number;
    }

    private void compare(List<String[]> calls, long number) {
        String[] mine = calls.get(rank);
        for (int peer = 0; peer < size; peer++) {
            String[] theirs = calls.get(peer);
            for (int i = 0; i < Math.max(mine.length, theirs.length); i++) {
                String own = i < mine.length ? mine[i] : NO_CALL;
                String other = i < theirs.length ? theirs[i] : NO_CALL;
                if (!agree(own, other, peer)) {
                    throw mismatch(own, peer, other, number + i);
                }
            }
        }
    }

    /** Whether two ranks have the same call, and expect of each other what the other one sends. */
    private boolean agree(String own, String other, int peer) {
        String[] mine = own.split(NEXT_COUNTS);
        String[] theirs = other.split(NEXT_COUNTS);
        if (!mine[0].equals(theirs[0])) {
            return false;
        }
        return mine.length == 1
                || count(mine[1], peer).equals(count(theirs[2], rank))
                        && count(mine[2], peer).equals(count(theirs[1], rank));
    }

    private static String count(String counts, int rank) {
        return counts.split(", ")[rank];
    }

    private JcclException mismatch(String own, int peer, String other, long number) {
        return new MismatchException(
                FailureContext.NONE,
                "rank "
                        + rank
                        + " has "
                        + shown(own)
                        + " where rank "
                        + peer
                        + " has "
                        + shown(other)
                        + ", as operation "
                        + number
                        + "; all ranks must issue the same operations in the same order");
    }

    private static String shown(String call) {
        String[] parts = call.split(NEXT_COUNTS);
        return parts.length == 1
                ? call
                : parts[0] + " that sends [" + parts[1] + "] and receives [" + parts[2] + "]";
    }

    /** What must be the same on all ranks; of {@code allToAllV} also the counts. */
    private static String text(Operation call) {
        return call.kind == OperationKind.ALL_TO_ALL_V
                ? call.describe()
                        + NEXT_COUNTS
                        + plain(call.inputCounts)
                        + NEXT_COUNTS
                        + plain(call.outputCounts)
                : call.describe();
    }

    private static String plain(long[] counts) {
        String text = Arrays.toString(counts);
        return text.substring(1, text.length() - 1);
    }

    private List<String> keys(long number) {
        return IntStream.range(0, size).mapToObj(peer -> key(number, peer)).toList();
    }

    private static String key(long number, int rank) {
        return "call/" + number + "/" + rank;
    }
}
