package org.jccl.internal.diagnosis;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.IntPredicate;
import java.util.function.LongFunction;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jccl.FailureContext;
import org.jccl.JcclException;
import org.jccl.MismatchException;
import org.jccl.PeerLostException;
import org.jccl.Store;
import org.jccl.internal.operation.StuckOperation;
import org.jccl.spi.Deadline;
import org.jccl.spi.Polling;

/**
 * Finds out through the store why an operation does not come to its end: ranks that issued
 * different operations, or a rank whose group failed. Costs nothing while operations run; only one
 * that is stuck is written to the store.
 *
 * <p>The first stuck rank writes what it does under the operation's number, and what it issued
 * before, the others compare. A failed rank writes its failure once, and stuck ranks read it.
 */
public final class DesyncDetector {

    /** The description of a message: its kind, the other rank and the tag. */
    private static final Pattern MESSAGE =
            Pattern.compile("(send|recv)\\(.* (?:to|from) (\\d+), tag (\\d+)\\)");

    private static final System.Logger LOGGER = System.getLogger(DesyncDetector.class.getName());

    private static final long QUIET_NANOS = TimeUnit.SECONDS.toNanos(10);

    private static final int MAX_LOST_TRIES = 10;

    /** Until the watchdogs of ranks that have noticed nothing have looked at what is stuck. */
    private static final int MAX_MISMATCH_TRIES = 75;

    private static final Duration PAUSE = Duration.ofMillis(20);

    private static final int MAX_RANKS_NAMED = 16;

    /** Operations written or deleted at a tick: the watchdog has deadlines to keep meanwhile. */
    private static final int MAX_AT_ONCE = 64;

    /** Operations that a root may have got through while others are in the first of them. */
    private static final int MAX_LOOK_BACK = 4;

    /** Connects on the first call; called on the diagnosis thread only. */
    private final Optional<Supplier<Store>> store;

    /** Runs what asks the store, which may not answer. */
    private final Executor asking;

    private final int rank;
    private final int size;
    private final boolean rankZeroServes;
    private final Departures departures;

    /** How many collectives and splits this rank has issued. */
    private volatile LongSupplier collectives = () -> 0;

    /** Whether the connection to a peer has ended. */
    private volatile IntPredicate lost = peer -> false;

    /** Whether an examination is queued or runs. */
    private final AtomicBoolean examining = new AtomicBoolean();

    private final AtomicReference<JcclException> unpublished = new AtomicReference<>();
    private volatile boolean published;

    /** Whether this rank closes the group, after which the store may be gone too. */
    private volatile boolean left;

    /** Until when the store is left alone, because it did not answer; 0 when it did. */
    private volatile long quietUntil;

    /** Whether the store has stuck operations of this rank. */
    private volatile boolean wrote;

    /**
     * Held while the store is asked, as long as it takes to answer. It guards the fields below; the
     * ones above are for threads that must not wait.
     */
    private final Object lock = new Object();

    /** The keys of stuck operations that this rank has written. */
    private final Set<String> written = new HashSet<>();

    private boolean warned;

    /** Creates a detector that asks on the calling threads. */
    public DesyncDetector(Optional<Store> store, int rank, int size) {
        this(
                store.map(own -> () -> own),
                Runnable::run,
                rank,
                size,
                false,
                Departures.none(rank, size));
    }

    /**
     * Creates a detector.
     *
     * @param store private to the group; without one nothing can be compared
     * @param asking runs what asks the store, one after the other
     * @param rank in the group
     * @param size of the group
     * @param rankZeroServes whether the store is in the process of the world's rank 0
     * @param departures of the group
     */
    public DesyncDetector(
            Optional<Supplier<Store>> store,
            Executor asking,
            int rank,
            int size,
            boolean rankZeroServes,
            Departures departures) {
        this.store = store;
        this.asking = asking;
        this.rank = rank;
        this.size = size;
        this.rankZeroServes = rankZeroServes;
        this.departures = departures;
    }

    /**
     * Says how to learn how many collectives and splits this rank has issued, and which peers it
     * has lost.
     */
    public void askWith(LongSupplier issued, IntPredicate hasLost) {
        collectives = issued;
        lost = hasLost;
    }

    /** Returns whether there is a store to ask, and another rank to ask about. */
    public boolean asks() {
        return store.isPresent() && size > 1;
    }

    private boolean isReachable() {
        return asks() && (quietUntil == 0 || System.nanoTime() - quietUntil > 0);
    }

    /**
     * Asks the store, one thread at a time. A store that fails or does not answer is left alone for
     * a while.
     *
     * @return the answer; empty if there is none
     */
    private <T> Optional<T> inquire(Function<Store, Optional<T>> question) {
        synchronized (lock) {
            if (!isReachable()) {
                return Optional.empty();
            }
            try {
                return question.apply(store.orElseThrow().get());
            } catch (JcclException e) {
                storeFailed(e);
                return Optional.empty();
            }
        }
    }

    /**
     * Notes that the store is gone, does not answer, or was closed before the group. Its process
     * may only be slow, so it is asked again after a while. Logs nothing if the group has failed
     * for the same reason.
     */
    private void storeFailed(JcclException cause) {
        quietUntil = System.nanoTime() + QUIET_NANOS;
        JcclException known = unpublished.get();
        boolean isKnown = known != null && known.reason().equals(cause.reason());
        if (!warned && !left && !isKnown) {
            warned = true;
            LOGGER.log(
                    System.Logger.Level.WARNING,
                    "rank "
                            + rank
                            + ": the store is gone, so a stuck operation cannot be explained: "
                            + cause.getMessage());
        }
    }

    /**
     * Runs a question asynchronously. The caller waits for the answer for a moment at most. An
     * interrupt does not end the wait; the flag stays set.
     */
    private <T> T ask(Supplier<T> question, T otherwise, Duration timeout) {
        CompletableFuture<T> answer = new CompletableFuture<>();
        asking.execute(() -> answer.complete(question.get()));
        return Deadline.after(timeout)
                .await(
                        nanos -> {
                            try {
                                return answer.get(nanos, TimeUnit.NANOSECONDS);
                            } catch (ExecutionException | TimeoutException e) {
                                return otherwise;
                            }
                        });
    }

    /** Examines the stuck operations asynchronously, unless an examination is queued already. */
    public void examineLater(
            List<StuckOperation> stuckOperations,
            LongFunction<List<String>> issuedBefore,
            Consumer<JcclException> found) {
        boolean nothingToDo = stuckOperations.isEmpty() && !wrote;
        if (!nothingToDo) {
            examineLater(() -> examine(stuckOperations, issuedBefore), found);
        }
    }

    /**
     * Looks asynchronously for a failure that another rank has reported, unless an examination is
     * queued already.
     */
    public void askForFailure(Consumer<JcclException> found) {
        examineLater(() -> inquire(departures::firstFailure), found);
    }

    /**
     * Looks asynchronously for a rank that failed, left or was lost before a call of all ranks that
     * is no operation, unless an examination is queued already.
     */
    public void askForAbsence(Consumer<JcclException> found) {
        examineLater(
                () ->
                        inquire(
                                asked ->
                                        departures
                                                .firstFailure(asked)
                                                .or(
                                                        () ->
                                                                departure(
                                                                        asked,
                                                                        OptionalInt.empty(),
                                                                        false))
                                                .or(departures::lost)),
                found);
    }

    private void examineLater(
            Supplier<Optional<JcclException>> examination, Consumer<JcclException> found) {
        if (!isReachable() || !examining.compareAndSet(false, true)) {
            return;
        }
        asking.execute(
                () -> {
                    try {
                        examination.get().ifPresent(found);
                    } finally {
                        examining.set(false);
                    }
                });
    }

    /** Looks at the stuck operations. */
    Optional<JcclException> examine(
            List<StuckOperation> stuckOperations, LongFunction<List<String>> issuedBefore) {
        return inquire(asked -> examine(asked, stuckOperations, issuedBefore));
    }

    private Optional<JcclException> examine(
            Store asked,
            List<StuckOperation> stuckOperations,
            LongFunction<List<String>> issuedBefore) {
        if (stuckOperations.isEmpty()) {
            try {
                forgetOthers(asked, stuckOperations);
            } catch (JcclException e) {
                // Nothing is stuck: the job may be over, and its store with it.
                written.clear();
                wrote = false;
            }
            return Optional.empty();
        }
        forgetOthers(asked, stuckOperations);
        for (StuckOperation operation : nextToCompare(stuckOperations)) {
            Optional<JcclException> mismatch = compare(asked, operation, issuedBefore);
            if (mismatch.isPresent()) {
                return mismatch;
            }
        }
        Optional<JcclException> failure = departures.firstFailure(asked);
        if (failure.isEmpty() && stuckOperations.stream().anyMatch(StuckOperation::collective)) {
            failure =
                    departure(asked, OptionalInt.empty(), false)
                            .or(() -> lostPeer(asked, stuckOperations));
        }
        return failure.or(departures::lost);
    }

    /**
     * Finds a peer that is gone, though this rank waits for another one. A peer that has not said
     * that it waits may have done its part, and ended without closing the group.
     */
    private Optional<JcclException> lostPeer(Store asked, List<StuckOperation> stuckOperations) {
        for (int peer = 0; peer < size; peer++) {
            if (peer != rank && lost.test(peer)) {
                OptionalLong waiting = positionOf(asked, peer);
                boolean waited =
                        stuckOperations.stream()
                                .filter(StuckOperation::collective)
                                .mapToLong(operation -> operation.context().sequence())
                                .anyMatch(number -> OptionalLong.of(number).equals(waiting));
                if (waited && !departures.left(asked).contains(peer)) {
                    return Optional.of(explain(gone(peer)));
                }
            }
        }
        return Optional.empty();
    }

    private static PeerLostException gone(int peer) {
        return new PeerLostException(
                FailureContext.NONE,
                "rank %s is gone: its connection was closed, and it did not close the group normally; see its log"
                        .formatted(peer),
                peer);
    }

    private Optional<JcclException> departure(Store asked, OptionalInt lost, boolean message) {
        return departures
                .cause(asked, lost, message, collectives.getAsLong())
                .map(JcclException.class::cast);
    }

    /** Deletes what was written about operations that have ended since. */
    private void forgetOthers(Store asked, List<StuckOperation> stuckOperations) {
        if (written.isEmpty()) {
            return;
        }
        Set<String> stuck = new HashSet<>();
        stuckOperations.forEach(operation -> stuck.add(operation.key()));
        List<String> ended = written.stream().filter(key -> !stuck.contains(key)).toList();
        for (String key : ended.subList(0, Math.min(ended.size(), MAX_AT_ONCE))) {
            asked.deleteKey(key);
            written.remove(key);
        }
        wrote = !written.isEmpty();
        if (!wrote) {
            asked.deleteKey(position(rank));
        }
    }

    /** The operations that are not in the store yet, a few at a time. */
    private List<StuckOperation> nextToCompare(List<StuckOperation> stuckOperations) {
        return stuckOperations.stream()
                .filter(each -> !each.key().isEmpty() && !written.contains(each.key()))
                .limit(MAX_AT_ONCE)
                .toList();
    }

    /**
     * Writes an operation, or compares it with what another rank wrote under its number.
     *
     * @param issuedBefore descriptions of the collectives before one, from the newest on
     * @return the oldest difference, if there is one
     */
    private Optional<JcclException> compare(
            Store asked, StuckOperation operation, LongFunction<List<String>> issuedBefore) {
        written.add(operation.key());
        wrote = true;
        FailureContext context = operation.context();
        asked.set(position(rank), bytes(context.sequence() + " " + context.operation()));
        List<String> mine = new ArrayList<>();
        mine.add(operation.text());
        if (operation.collective()) {
            mine.addAll(issuedBefore.apply(context.sequence()));
        }
        String own = rank + "\n" + String.join("\n", mine);
        String[] first =
                text(asked.compareSet(operation.key(), new byte[0], bytes(own))).split("\n");
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
    private Optional<JcclException> compareEarlier(
            Store asked, StuckOperation operation, LongFunction<List<String>> issuedBefore) {
        long sequence = operation.context().sequence();
        List<String> earlier = issuedBefore.apply(sequence);
        for (int back = 1; back <= Math.min(earlier.size(), MAX_LOOK_BACK); back++) {
            String key = StuckOperation.collectiveKey(sequence - back);
            if (asked.check(List.of(key))) {
                String[] first = text(asked.get(key)).split("\n");
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
    private OptionalLong positionOf(Store asked, int other) {
        String key = position(other);
        return asked.check(List.of(key))
                ? OptionalLong.of(Long.parseLong(text(asked.get(key)).split(" ")[0]))
                : OptionalLong.empty();
    }

    private String positions(Store asked, FailureContext expired) {
        List<String> lines = new ArrayList<>();
        Set<Integer> closed = departures.left(asked);
        for (int other = 0; other < Math.min(size, MAX_RANKS_NAMED); other++) {
            if (other == rank) {
                continue;
            }
            String key = position(other);
            if (closed.contains(other)) {
                lines.add("rank " + other + " has closed the group");
            } else if (asked.check(List.of(key))) {
                lines.add(stuckIn(other, text(asked.get(key)), expired));
            } else {
                lines.add(
                        "rank "
                                + other
                                + " has reported no stuck operation: it has not arrived, so look at its log and stack");
            }
        }
        return String.join("; ", lines);
    }

    private String stuckIn(int other, String theirs, FailureContext expired) {
        String stuck = "rank " + other + " was last stuck in operation " + theirs;
        Matcher mine = MESSAGE.matcher(expired.operation());
        Matcher its = MESSAGE.matcher(theirs);
        boolean tagsDiffer =
                mine.find()
                        && its.find()
                        && !mine.group(1).equals(its.group(1))
                        && mine.group(2).equals(Integer.toString(other))
                        && its.group(2).equals(Integer.toString(rank))
                        && !mine.group(3).equals(its.group(3));
        return tagsDiffer ? stuck + ", whose tag differs from this rank's" : stuck;
    }

    private static String position(int rank) {
        return "position/" + rank;
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static String text(byte[] bytes) {
        return new String(bytes, StandardCharsets.UTF_8);
    }

    /** Returns what {@link #explain} finds within a moment, for a collective. */
    public JcclException explainSoon(PeerLostException lost) {
        return explainSoon(lost, () -> explain(lost));
    }

    /**
     * The same for a message, which only its partner can fail to take part in.
     *
     * @param partner the other rank, or negative where it is any
     */
    public JcclException explainSoon(PeerLostException lost, int partner) {
        return explainSoon(
                lost,
                () ->
                        causeBehind(
                                lost,
                                (asked, last) ->
                                        partner < 0
                                                ? Optional.empty()
                                                : departure(asked, OptionalInt.of(partner), true)));
    }

    /**
     * Finds out what another rank issued where the library has noticed that it was something else.
     *
     * @param seen what the library said
     * @param operation this rank's operation
     * @param issuedBefore descriptions of the collectives before one, from the newest on
     * @return a failure that has both sides, or the given one if nobody tells in a moment
     */
    public JcclException explainSoon(
            MismatchException seen,
            StuckOperation operation,
            LongFunction<List<String>> issuedBefore) {
        return explainSoon(seen, () -> causeBehind(seen, operation, issuedBefore));
    }

    private JcclException explainSoon(JcclException noticed, Supplier<JcclException> question) {
        return isReachable() ? ask(question, noticed, Diagnosis.CAUSE_TIMEOUT) : noticed;
    }

    /** Passes on what {@link #explain} finds, asynchronously; at once if the store is gone. */
    public void explainLater(PeerLostException lost, Consumer<JcclException> found) {
        asking.execute(() -> found.accept(explain(lost)));
    }

    /** Finds the cause behind a peer that was lost in a collective. */
    JcclException explain(PeerLostException lost) {
        return causeBehind(lost, (asked, last) -> departure(asked, last, false));
    }

    /**
     * Finds the cause behind a mismatch that the library reported. Compares as if the operation
     * were stuck: the rank that comes second knows both sides, and reports them to the first. The
     * other rank may write its side a moment later, so it is searched for again and again.
     *
     * @return a failure that has both sides, or the given one
     */
    private JcclException causeBehind(
            MismatchException seen,
            StuckOperation operation,
            LongFunction<List<String>> issuedBefore) {
        Optional<JcclException> found = inquire(asked -> compare(asked, operation, issuedBefore));
        for (int i = 0; found.isEmpty() && i < MAX_MISMATCH_TRIES && isReachable(); i++) {
            found =
                    inquire(
                            asked ->
                                    compareEarlier(asked, operation, issuedBefore)
                                            .or(() -> departures.firstFailure(asked))
                                            .filter(MismatchException.class::isInstance));
            if (found.isEmpty()) {
                Polling.sleep(PAUSE);
            }
        }
        found.ifPresent(cause -> cause.addSuppressed(seen));
        return found.orElse(seen);
    }

    /**
     * Finds the cause behind a lost peer. A rank that fails closes its connections, so that others
     * lose it in turn: each reports at once whom it lost. The search follows these reports to the
     * rank that reports nothing, which is the one that is gone. That rank may be about to report
     * why it failed, so the search is repeated.
     *
     * @param departure finds the departure that matters, given the rank that was lost last
     * @return the failure at the end of that chain, or the given one when nothing is known after a
     *     moment
     */
    private JcclException causeBehind(
            PeerLostException lost,
            BiFunction<Store, OptionalInt, Optional<JcclException>> departure) {
        Optional<JcclException> cause = Optional.empty();
        inquire(
                asked -> {
                    asked.set(Departures.failureOf(rank), departures.text(lost));
                    return Optional.empty();
                });
        for (int i = 0; i < MAX_LOST_TRIES && isReachable(); i++) {
            Optional<JcclException> found = inquire(asked -> reported(asked, lost, departure));
            if (found.isPresent()) {
                cause = found;
            }
            if (cause.isPresent() && !(cause.get() instanceof PeerLostException)) {
                break;
            }
            Polling.sleep(PAUSE);
        }
        cause.ifPresent(found -> found.addSuppressed(lost));
        return cause.orElse(lost);
    }

    private Optional<JcclException> reported(
            Store asked,
            PeerLostException lost,
            BiFunction<Store, OptionalInt, Optional<JcclException>> departure) {
        Optional<JcclException> known =
                lost.peer().isPresent()
                        ? departures.causeAt(asked, lost.peer())
                        : departures.firstFailure(asked);
        return known.orElse(lost) instanceof PeerLostException last
                ? departure.apply(asked, last.peer()).or(() -> known)
                : known;
    }

    /** Tells the others that this rank closes the group normally, unless a group has failed. */
    public void leave() {
        // The job ends: failures of the store are no longer logged.
        left = true;
        departures.leave(collectives.getAsLong());
    }

    /** The program continues with another group after a failure. */
    public void replaced() {
        departures.replaced();
    }

    /** Remembers this rank's failure for {@link #publish}. */
    public void noteFailure(JcclException cause) {
        departures.groupFailed();
        unpublished.compareAndSet(null, cause);
    }

    /** Writes this rank's failure asynchronously, if there is one that was not written yet. */
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
                    false,
                    Diagnosis.ANSWER_TIMEOUT);
        }
    }

    private boolean hasNews() {
        return unpublished.get() != null && !published && isReachable();
    }

    /** Writes this rank's failure to the store, if there is one that is not there yet. */
    public void publish() {
        inquire(
                asked -> {
                    JcclException cause = unpublished.get();
                    if (cause != null && !published) {
                        byte[] text = departures.text(cause);
                        asked.compareSet(Departures.FIRST_FAILURE, new byte[0], text);
                        asked.set(Departures.failureOf(rank), text);
                        published = true;
                    }
                    return Optional.empty();
                });
    }

    /** Passes on what {@link #describePositions} finds, asynchronously. */
    public void describeLater(FailureContext expired, Consumer<String> described) {
        asking.execute(() -> described.accept(describePositions(expired)));
    }

    /**
     * Says where the ranks are, as far as they have written it.
     *
     * @param expired the operation of this rank
     */
    String describePositions(FailureContext expired) {
        if (!asks()) {
            return "without a store, the positions of the other ranks are unknown";
        }
        synchronized (lock) {
            if (!isReachable()) {
                return silence();
            }
            try {
                return positions(store.orElseThrow().get(), expired);
            } catch (JcclException e) {
                storeFailed(e);
                return (rankZeroServes
                                ? "rank 0 of the world and its store are gone: "
                                : "the store is gone: ")
                        + e.getMessage();
            }
        }
    }

    /** Says where the other ranks are, when the store does not answer. */
    public String silence() {
        return "the store does not answer, so the positions of the other ranks are unknown: first"
                + " check "
                + (rankZeroServes
                        ? "rank 0 of the world, which serves it"
                        : "the process that serves it (rank 0 or the launcher) or, if it is a"
                                + " file, the process that holds its lock");
    }
}
