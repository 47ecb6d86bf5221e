package org.jccl.internal.diagnosis;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.IntPredicate;
import java.util.function.LongFunction;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jccl.FailureContext;
import org.jccl.JcclException;
import org.jccl.MismatchException;
import org.jccl.PeerLostException;
import org.jccl.Store;
import org.jccl.internal.operation.StuckOperation;

/**
 * Finds out through the store why an operation does not come to its end: ranks that issued
 * different operations, or a rank whose group failed. Costs nothing while operations run; only one
 * that is stuck is written to the store.
 *
 * <p>The first stuck rank writes what it does under the operation's number, and what it issued
 * before, the others compare. A failed rank writes its failure once, and stuck ranks read it.
 */
public final class DesyncDetector {

    private final DiagnosisStore store;

    /** Runs what asks the store, which may not answer. */
    private final Executor asking;

    private final int rank;
    private final int size;
    private final boolean rankZeroServes;
    private final Departures departures;
    private final Reports reports;
    private final StuckOperations stuck;
    private final CauseSearch causes;

    /** How many collectives this rank has issued. */
    private volatile LongSupplier collectives = () -> 0;

    /** Whether the connection to a peer has ended. */
    private volatile IntPredicate lost = peer -> false;

    /** Whether an examination is queued or runs. */
    private final AtomicBoolean examining = new AtomicBoolean();

    /** Not under the monitor, which may be held as long as the store takes to answer. */
    private final AtomicReference<JcclException> unpublished = new AtomicReference<>();

    private volatile boolean published;

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
        this.store = new DiagnosisStore(store, rank, size);
        this.asking = asking;
        this.rank = rank;
        this.size = size;
        this.rankZeroServes = rankZeroServes;
        this.departures = departures;
        this.reports = new Reports(rank);
        this.stuck = new StuckOperations(rank, size);
        this.causes = new CauseSearch(this.store, rank, reports, stuck);
    }

    /** Says how to learn how many collectives this rank has issued, and which peers it has lost. */
    public void askWith(LongSupplier issued, IntPredicate hasLost) {
        collectives = issued;
        lost = hasLost;
    }

    /** Whether there is a store to ask, and another rank to ask about. */
    public boolean asks() {
        return store.exists();
    }

    /** Looks at the stuck operations some time, unless it is about to do so anyway. */
    public void examineLater(
            List<StuckOperation> stuckOperations,
            LongFunction<List<String>> issuedBefore,
            Consumer<JcclException> found) {
        boolean nothingToDo = stuckOperations.isEmpty() && !stuck.isWritten();
        if (!nothingToDo) {
            examineLater(() -> examine(stuckOperations, issuedBefore), found);
        }
    }

    /** Looks for a failure that another rank has reported, unless it is about to do so anyway. */
    public void askForFailure(Consumer<JcclException> found) {
        examineLater(this::reported, found);
    }

    private void examineLater(
            Supplier<Optional<JcclException>> examination, Consumer<JcclException> found) {
        if (!store.isReachable() || !examining.compareAndSet(false, true)) {
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

    private Optional<JcclException> reported() {
        synchronized (store) {
            try {
                return reports.first(store.get());
            } catch (JcclException e) {
                store.failed(e);
                return Optional.empty();
            }
        }
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
                    false,
                    Diagnosis.ANSWER_TIMEOUT);
        }
    }

    private boolean hasNews() {
        return unpublished.get() != null && !published && store.isReachable();
    }

    /** What {@link #explain} finds within a moment, for a collective. */
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
                        causes.behind(
                                lost,
                                last ->
                                        partner < 0
                                                ? Optional.empty()
                                                : departure(OptionalInt.of(partner), true)));
    }

    private JcclException explainSoon(PeerLostException lost, Supplier<JcclException> question) {
        return store.isReachable() ? ask(question, lost, Diagnosis.CAUSE_TIMEOUT) : lost;
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
        return store.isReachable()
                ? ask(
                        () -> causes.behind(seen, operation, issuedBefore),
                        seen,
                        Diagnosis.CAUSE_TIMEOUT)
                : seen;
    }

    /** Tells the others that this rank closes the group normally, unless a group has failed. */
    public void leave() {
        store.leave();
        departures.leave(collectives.getAsLong());
    }

    /** The program continues with another group after a failure. */
    public void replaced() {
        departures.replaced();
    }

    /** Hands on what {@link #explain} finds, some time; at once where the store is gone. */
    public void explainLater(PeerLostException lost, Consumer<JcclException> found) {
        asking.execute(() -> found.accept(explain(lost)));
    }

    /** Hands on what {@link #describePositions} finds, some time. */
    public void describeLater(Consumer<String> described) {
        asking.execute(() -> described.accept(describePositions()));
    }

    /** Asks, and gives up when there is no answer in a moment. */
    private <T> T ask(Supplier<T> question, T otherwise, Duration timeout) {
        CompletableFuture<T> answer = new CompletableFuture<>();
        asking.execute(() -> answer.complete(question.get()));
        long deadline = System.nanoTime() + timeout.toNanos();
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

    /** Looks at the stuck operations. */
    Optional<JcclException> examine(
            List<StuckOperation> stuckOperations, LongFunction<List<String>> issuedBefore) {
        synchronized (store) {
            return examineGuarded(stuckOperations, issuedBefore);
        }
    }

    private Optional<JcclException> examineGuarded(
            List<StuckOperation> stuckOperations, LongFunction<List<String>> issuedBefore) {
        if (!store.isReachable()) {
            return Optional.empty();
        }
        try {
            stuck.forgetOthers(store.get(), stuckOperations);
            if (stuckOperations.isEmpty()) {
                return Optional.empty();
            }
            for (StuckOperation operation : stuck.nextToCompare(stuckOperations)) {
                Optional<JcclException> mismatch =
                        stuck.compare(store.get(), operation, issuedBefore);
                if (mismatch.isPresent()) {
                    return mismatch;
                }
            }
            Optional<JcclException> failure = reports.first(store.get());
            if (failure.isEmpty()
                    && stuckOperations.stream().anyMatch(StuckOperation::collective)) {
                failure = departure(OptionalInt.empty(), false).or(() -> lostPeer(stuckOperations));
            }
            return failure.or(departures::lost);
        } catch (JcclException e) {
            if (stuckOperations.isEmpty()) {
                // Nothing is stuck: the job may be over, and its store with it.
                stuck.clear();
            } else {
                store.failed(e);
            }
            return Optional.empty();
        }
    }

    /**
     * Finds a peer that is gone, though this rank waits for another one. A peer that has not said
     * that it waits may have done its part, and ended without closing the group.
     */
    private Optional<JcclException> lostPeer(List<StuckOperation> stuckOperations) {
        for (int peer = 0; peer < size; peer++) {
            if (peer != rank && lost.test(peer)) {
                OptionalLong waiting = stuck.positionOf(store.get(), peer);
                boolean waited =
                        stuckOperations.stream()
                                .filter(StuckOperation::collective)
                                .mapToLong(operation -> operation.context().sequence())
                                .anyMatch(number -> OptionalLong.of(number).equals(waiting));
                if (waited && !departures.left(store.get()).contains(peer)) {
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

    private Optional<JcclException> departure(OptionalInt lost, boolean message) {
        return departures
                .cause(store.get(), lost, message, collectives.getAsLong())
                .map(JcclException.class::cast);
    }

    /** See {@link CauseSearch#behind(PeerLostException, Function)}, for a collective. */
    JcclException explain(PeerLostException lost) {
        return causes.behind(lost, last -> departure(last, false));
    }

    /** Remembers this rank's failure for {@link #publish}. */
    public void noteFailure(JcclException cause) {
        departures.groupFailed();
        unpublished.compareAndSet(null, cause);
    }

    /** Writes this rank's failure to the store, if there is one that is not there yet. */
    public void publish() {
        synchronized (store) {
            JcclException cause = unpublished.get();
            if (cause == null || published || !store.isReachable()) {
                return;
            }
            try {
                store.get().compareSet(Reports.FIRST, new byte[0], reports.text(cause));
                store.get().set(Reports.key(rank), reports.text(cause));
                published = true;
            } catch (JcclException e) {
                // Nobody needs to be told twice if the group failed because of the store.
                if (!cause.reason().equals(e.reason())) {
                    store.failed(e);
                }
            }
        }
    }

    /** Where the other ranks are, when the store does not answer. */
    public String silence() {
        return "the store does not answer, so where the other ranks are is not known: look first at "
                + (rankZeroServes
                        ? "rank 0 of the world, which serves it"
                        : "the process that serves it (rank 0 or the launcher) or, if it is a file,"
                                + " at the process that holds its lock");
    }

    /** Where the ranks are, as far as they have written it. */
    String describePositions() {
        synchronized (store) {
            if (!asks()) {
                return "no store to ask where the other ranks are";
            }
            if (!store.isReachable()) {
                return silence();
            }
            try {
                return stuck.positions(store.get());
            } catch (JcclException e) {
                store.failed(e);
                return (rankZeroServes
                                ? "rank 0 of the world is gone with its store: "
                                : "the store is gone: ")
                        + e.getMessage();
            }
        }
    }
}
