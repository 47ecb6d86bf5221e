package org.jccl.internal.diagnosis;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.function.LongFunction;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import org.jccl.FailureContext;
import org.jccl.GroupAbortedException;
import org.jccl.JcclException;
import org.jccl.MismatchException;
import org.jccl.OperationTimeoutException;
import org.jccl.PeerLostException;
import org.jccl.Store;
import org.jccl.internal.operation.Suspect;

/**
 * Finds out through the store why an operation does not come to its end: ranks that issued
 * different operations, or a rank whose group failed. Costs nothing while operations run; only one
 * that is stuck is written to the store.
 *
 * <p>The first stuck rank writes what it does under the operation's number, and what it issued
 * before, the others compare. A failed rank writes its failure once, and stuck ranks read it.
 */
public final class DesyncDetector {

    private static final System.Logger LOGGER = System.getLogger(DesyncDetector.class.getName());

    /** The first failure; with a rank behind it, that rank's own. */
    private static final String FAILURE = "failure";

    private static final Pattern NUMBER = Pattern.compile("-?\\d{1,9}");
    private static final int RANKS_NAMED = 16;

    /** Operations written or deleted at a tick: the watchdog has deadlines to keep meanwhile. */
    private static final int AT_ONCE = 64;

    private static final long QUIET_NANOS = TimeUnit.SECONDS.toNanos(10);
    private static final int EXPLAIN_TRIES = 10;
    private static final long EXPLAIN_PAUSE_NANOS = 20_000_000;

    /** Connects when it is first asked; only on the thread of {@link #asking}. */
    private final Optional<Supplier<Store>> store;

    /** Runs what asks the store, which may not answer. */
    private final Executor asking;

    private final int rank;
    private final int size;
    private final boolean rankZeroServes;
    private final Set<String> written = new HashSet<>();

    /** Whether {@link #written} has any, for those that must not wait for the monitor. */
    private volatile boolean wrote;

    /** Whether an examination waits for its turn or is under way. */
    private final AtomicBoolean examining = new AtomicBoolean();

    /** Not under the monitor, which may be held as long as the store takes to answer. */
    private final AtomicReference<JcclException> unpublished = new AtomicReference<>();

    private volatile boolean published;
    private boolean warned;

    /** Until when the store is left alone, because it did not answer; 0 when it did. */
    private volatile long quietUntil;

    /**
     * Creates a detector that asks on the calling threads.
     *
     * @param store private to the group; without one nothing can be compared
     * @param rank in the group
     * @param size of the group
     */
    public DesyncDetector(Optional<Store> store, int rank, int size) {
        this(store.map(own -> () -> own), Runnable::run, rank, size);
    }

    /**
     * Creates a detector.
     *
     * @param store private to the group; without one nothing can be compared
     * @param asking runs what asks the store, one after the other
     * @param rank in the group
     * @param size of the group
     */
    public DesyncDetector(Optional<Supplier<Store>> store, Executor asking, int rank, int size) {
        this(store, asking, rank, size, false);
    }

    /**
     * Creates a detector.
     *
     * @param store private to the group; without one nothing can be compared
     * @param asking runs what asks the store, one after the other
     * @param rank in the group
     * @param size of the group
     * @param rankZeroServes whether the store is in the process of the world's rank 0
     */
    public DesyncDetector(
            Optional<Supplier<Store>> store,
            Executor asking,
            int rank,
            int size,
            boolean rankZeroServes) {
        this.rankZeroServes = rankZeroServes;
        this.store = store;
        this.asking = asking;
        this.rank = rank;
        this.size = size;
    }

    /** Whether there is a store to ask, and somebody to ask about. */
    public boolean asks() {
        return store.isPresent() && size > 1;
    }

    private boolean isReachable() {
        return asks() && (quietUntil == 0 || System.nanoTime() - quietUntil > 0);
    }

    private Store store() {
        return store.orElseThrow().get();
    }

    /**
     * Looks at the stuck operations some time, unless it is about to do so anyway.
     *
     * @param suspects the operations
     * @param issuedBefore descriptions of the collectives before one, from the newest on
     * @param found takes the reason why they can not end
     */
    public void examineLater(
            List<Suspect> suspects,
            LongFunction<List<String>> issuedBefore,
            Consumer<JcclException> found) {
        boolean nothingToDo = suspects.isEmpty() && !wrote;
        if (nothingToDo || !isReachable() || !examining.compareAndSet(false, true)) {
            return;
        }
        asking.execute(
                () -> {
                    try {
                        examine(suspects, issuedBefore).ifPresent(found);
                    } finally {
                        examining.set(false);
                    }
                });
    }

    /** Writes this rank's failure some time, if there is one that was not written yet. */
    public void publishLater() {
        if (hasNews()) {
            asking.execute(this::publish);
        }
    }

    /** The same, and waits for it for a moment: this process may be about to end. */
    public void publishSoon() {
        if (hasNews()) {
            ask(
                    () -> {
                        publish();
                        return true;
                    },
                    false);
        }
    }

    private boolean hasNews() {
        return unpublished.get() != null && !published && isReachable();
    }

    /** What {@link #explain} finds within a moment. */
    public JcclException explainSoon(PeerLostException lost) {
        return isReachable() ? ask(() -> explain(lost), lost) : lost;
    }

    /** Hands on what {@link #describePositions} finds, some time. */
    public void describeLater(Consumer<String> described) {
        asking.execute(() -> described.accept(describePositions()));
    }

    /** Asks, and gives up when there is no answer in a moment. */
    private <T> T ask(Supplier<T> question, T otherwise) {
        CompletableFuture<T> answer = new CompletableFuture<>();
        asking.execute(() -> answer.complete(question.get()));
        long deadline = System.nanoTime() + Diagnosis.PATIENCE.toNanos();
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return answer.get(deadline - System.nanoTime(), TimeUnit.NANOSECONDS);
                } catch (InterruptedException e) {
                    interrupted = true;
                } catch (ExecutionException | TimeoutException e) {
                    return otherwise;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /**
     * Looks at the stuck operations.
     *
     * @param suspects the operations
     * @param issuedBefore descriptions of the collectives before one, from the newest on
     * @return why they can not end, if that is known
     */
    synchronized Optional<JcclException> examine(
            List<Suspect> suspects, LongFunction<List<String>> issuedBefore) {
        if (!isReachable()) {
            return Optional.empty();
        }
        try {
            forgetOthers(suspects);
            if (suspects.isEmpty()) {
                return Optional.empty();
            }
            for (Suspect suspect : nextToCompare(suspects)) {
                Optional<JcclException> mismatch = compare(suspect, issuedBefore);
                if (mismatch.isPresent()) {
                    return mismatch;
                }
            }
            return failureOfAnother();
        } catch (JcclException e) {
            if (suspects.isEmpty()) {
                // Nothing is stuck: the job may be over, and its store with it.
                written.clear();
                wrote = false;
            } else {
                loseStore(e);
            }
            return Optional.empty();
        }
    }

    /**
     * Of a store that is gone, does not answer, or was closed before the group. Its process may
     * only be late, so it is asked again after a while.
     */
    private void loseStore(JcclException cause) {
        quietUntil = System.nanoTime() + QUIET_NANOS;
        if (!warned) {
            warned = true;
            LOGGER.log(
                    System.Logger.Level.WARNING,
                    "rank "
                            + rank
                            + ": the store is gone, so a stuck operation can not be explained: "
                            + cause.getMessage());
        }
    }

    /** Deletes what was written about operations that have ended since. */
    private void forgetOthers(List<Suspect> suspects) {
        if (written.isEmpty()) {
            return;
        }
        Set<String> stuck = new HashSet<>();
        suspects.forEach(suspect -> stuck.add(suspect.key()));
        List<String> ended = written.stream().filter(key -> !stuck.contains(key)).toList();
        for (String key : ended.subList(0, Math.min(ended.size(), AT_ONCE))) {
            store().deleteKey(key);
            written.remove(key);
        }
        wrote = !written.isEmpty();
        if (!wrote) {
            store().deleteKey("position/" + rank);
        }
    }

    private List<Suspect> nextToCompare(List<Suspect> suspects) {
        return suspects.stream()
                .filter(each -> !each.key().isEmpty() && !written.contains(each.key()))
                .limit(AT_ONCE)
                .toList();
    }

    private Optional<JcclException> compare(
            Suspect suspect, LongFunction<List<String>> issuedBefore) {
        written.add(suspect.key());
        wrote = true;
        FailureContext context = suspect.context();
        store().set("position/" + rank, bytes(context.sequence() + " " + context.operation()));
        List<String> mine = new ArrayList<>();
        mine.add(suspect.text());
        if (suspect.collective()) {
            mine.addAll(issuedBefore.apply(context.sequence()));
        }
        String own = rank + "\n" + String.join("\n", mine);
        String[] first =
                text(store().compareSet(suspect.key(), new byte[0], bytes(own))).split("\n");
        // The oldest difference is the cause of the others.
        for (int back = Math.min(mine.size(), first.length - 1) - 1; back >= 0; back--) {
            if (!mine.get(back).equals(first[back + 1])) {
                return Optional.of(
                        mismatch(suspect, back, mine.get(back), first[0], first[back + 1]));
            }
        }
        return Optional.empty();
    }

    private MismatchException mismatch(
            Suspect suspect, int back, String mine, String otherRank, String theirs) {
        return new MismatchException(
                suspect.context(),
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
                                ? suspect.title()
                                : "as operation " + (suspect.context().sequence() - back))
                        + "; all ranks must issue the same operations in the same order");
    }

    /**
     * Finds the cause behind a lost peer. A rank that fails closes its connections, so that others
     * lose it in turn: each says at once whom it lost, and whoever lost a rank follows what those
     * ranks say to the one that says nothing, which is the one that is gone.
     *
     * @return the failure at the end of that chain, or the given one when nothing is known after a
     *     moment
     */
    JcclException explain(PeerLostException lost) {
        Optional<JcclException> cause = Optional.empty();
        for (int i = 0; i < EXPLAIN_TRIES; i++) {
            synchronized (this) {
                if (!isReachable()) {
                    break;
                }
                try {
                    if (i == 0) {
                        store().set(FAILURE + "/" + rank, report(lost));
                    }
                    cause = lost.peer().isPresent() ? causeAt(lost.peer()) : failureOfAnother();
                    if (cause.isPresent() && !(cause.get() instanceof PeerLostException)) {
                        break;
                    }
                } catch (JcclException e) {
                    loseStore(e);
                }
            }
            // Whom the last of the chain has lost may still be about to say why it failed.
            LockSupport.parkNanos(EXPLAIN_PAUSE_NANOS);
        }
        cause.ifPresent(found -> found.addSuppressed(lost));
        return cause.orElse(lost);
    }

    /** What the last rank says that is reached from one by asking each whom it has lost. */
    private Optional<JcclException> causeAt(OptionalInt first) {
        Optional<JcclException> cause = Optional.empty();
        Set<Integer> asked = new HashSet<>(Set.of(rank));
        OptionalInt next = first;
        while (next.isPresent() && asked.add(next.getAsInt())) {
            Optional<JcclException> said = reportAt(FAILURE + "/" + next.getAsInt());
            if (said.isEmpty()) {
                break;
            }
            cause = said;
            next = said.get() instanceof PeerLostException lost ? lost.peer() : OptionalInt.empty();
        }
        return cause;
    }

    private Optional<JcclException> failureOfAnother() {
        return reportAt(FAILURE);
    }

    private byte[] report(JcclException failure) {
        int peer = failure instanceof PeerLostException lost ? lost.peer().orElse(-1) : -1;
        String type = failure.getClass().getSimpleName();
        return bytes(rank + "\n" + type + "\n" + peer + "\n" + failure.reason());
    }

    /** The failure that another rank reports under a key, unless it is that it lost this rank. */
    private Optional<JcclException> reportAt(String key) {
        if (!store().check(List.of(key))) {
            return Optional.empty();
        }
        String[] parts = text(store().get(key)).split("\n", 4);
        if (parts.length < 4
                || !NUMBER.matcher(parts[0]).matches()
                || !NUMBER.matcher(parts[2]).matches()) {
            return Optional.empty(); // not written by a rank of this version
        }
        int peer = Integer.parseInt(parts[2]);
        if (Integer.parseInt(parts[0]) == rank || peer == rank) {
            return Optional.empty();
        }
        String reason = "rank " + parts[0] + " reported: " + parts[3];
        return Optional.of(
                switch (parts[1]) {
                    case "MismatchException" -> new MismatchException(FailureContext.NONE, reason);
                    case "OperationTimeoutException" ->
                            new OperationTimeoutException(FailureContext.NONE, reason);
                    case "GroupAbortedException" ->
                            new GroupAbortedException(FailureContext.NONE, reason);
                    default -> new PeerLostException(FailureContext.NONE, reason, peer);
                });
    }

    /** Remembers this rank's failure for {@link #publish}. */
    public void noteFailure(JcclException cause) {
        unpublished.compareAndSet(null, cause);
    }

    /** Writes this rank's failure to the store, if there is one that is not there yet. */
    public synchronized void publish() {
        JcclException cause = unpublished.get();
        if (cause == null || published || !isReachable()) {
            return;
        }
        try {
            store().compareSet(FAILURE, new byte[0], report(cause));
            store().set(FAILURE + "/" + rank, report(cause));
            published = true;
        } catch (JcclException e) {
            loseStore(e);
        }
    }

    /**
     * Where the other ranks are, when the store does not answer.
     *
     * @return that nobody knows, and where to look
     */
    public String silence() {
        return "the store does not answer, so where the other ranks are is not known: look first at "
                + (rankZeroServes
                        ? "rank 0 of the world, which serves it"
                        : "the process that serves it (rank 0 or the launcher) or, of a file, that"
                                + " holds its lock");
    }

    /** Where the ranks are, as far as they have written it. */
    synchronized String describePositions() {
        if (!asks()) {
            return "no store to ask where the other ranks are";
        }
        if (!isReachable()) {
            return silence();
        }
        List<String> lines = new ArrayList<>();
        try {
            for (int other = 0; other < Math.min(size, RANKS_NAMED); other++) {
                if (other == rank) {
                    continue;
                }
                String key = "position/" + other;
                boolean known = store().check(List.of(key));
                lines.add(
                        known
                                ? "rank "
                                        + other
                                        + " was last stuck in operation "
                                        + text(store().get(key))
                                : "rank " + other + " has not said that it waits for anything");
            }
        } catch (JcclException e) {
            loseStore(e);
            return (rankZeroServes
                            ? "rank 0 of the world is gone with its store: "
                            : "the store is gone: ")
                    + e.getMessage();
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
