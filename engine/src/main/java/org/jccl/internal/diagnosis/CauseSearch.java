package org.jccl.internal.diagnosis;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.function.Function;
import java.util.function.LongFunction;
import org.jccl.JcclException;
import org.jccl.MismatchException;
import org.jccl.PeerLostException;
import org.jccl.internal.operation.StuckOperation;
import org.jccl.spi.Polling;

/**
 * Searches the store for the cause of a failure that the library reported: another rank's different
 * operation behind a mismatch, the failure of another rank behind a lost connection. The other
 * ranks may write it a moment later, so it is searched for again and again.
 */
final class CauseSearch {

    private static final int LOST_TRIES = 10;

    /** Until the watchdogs of ranks that have noticed nothing have looked at what is stuck. */
    private static final int MISMATCH_TRIES = 75;

    private static final Duration PAUSE = Duration.ofMillis(20);

    private final DiagnosisStore store;
    private final int rank;
    private final Reports reports;
    private final StuckOperations stuck;

    CauseSearch(DiagnosisStore store, int rank, Reports reports, StuckOperations stuck) {
        this.store = store;
        this.rank = rank;
        this.reports = reports;
        this.stuck = stuck;
    }

    /**
     * Compares as if the operation were stuck. The rank that comes second knows both sides, and
     * reports them to the first.
     *
     * @return a failure that has both sides, or the given one
     */
    JcclException behind(
            MismatchException seen,
            StuckOperation operation,
            LongFunction<List<String>> issuedBefore) {
        Optional<JcclException> found = Optional.empty();
        for (int i = 0; found.isEmpty() && i < MISMATCH_TRIES; i++) {
            synchronized (store) {
                if (!store.isReachable()) {
                    break;
                }
                try {
                    found =
                            i == 0
                                    ? stuck.compare(store.get(), operation, issuedBefore)
                                    : Optional.empty();
                    if (found.isEmpty()) {
                        found = stuck.compareEarlier(store.get(), operation, issuedBefore);
                    }
                    if (found.isEmpty()) {
                        found =
                                reports.first(store.get())
                                        .filter(MismatchException.class::isInstance);
                    }
                } catch (JcclException e) {
                    store.failed(e);
                }
            }
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
     * rank that reports nothing, which is the one that is gone.
     *
     * @param departure finds the departure that matters, given the rank that was lost last
     * @return the failure at the end of that chain, or the given one when nothing is known after a
     *     moment
     */
    JcclException behind(
            PeerLostException lost, Function<OptionalInt, Optional<JcclException>> departure) {
        Optional<JcclException> cause = Optional.empty();
        for (int i = 0; i < LOST_TRIES; i++) {
            synchronized (store) {
                if (!store.isReachable()) {
                    break;
                }
                try {
                    if (i == 0) {
                        store.get().set(Reports.key(rank), reports.text(lost));
                    }
                    Optional<JcclException> known =
                            lost.peer().isPresent()
                                    ? reports.causeAt(store.get(), lost.peer())
                                    : reports.first(store.get());
                    cause = known;
                    if (known.orElse(lost) instanceof PeerLostException last) {
                        cause = departure.apply(last.peer()).or(() -> known);
                    }
                    if (cause.isPresent() && !(cause.get() instanceof PeerLostException)) {
                        break;
                    }
                } catch (JcclException e) {
                    store.failed(e);
                }
            }
            // The last rank of the chain may still be about to report why it failed.
            Polling.sleep(PAUSE);
        }
        cause.ifPresent(found -> found.addSuppressed(lost));
        return cause.orElse(lost);
    }
}
