package org.jccl.internal.membership;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.jccl.FailureContext;
import org.jccl.GroupAbortedException;
import org.jccl.JcclException;
import org.jccl.OperationTimeoutException;
import org.jccl.Store;
import org.jccl.UsageException;
import org.jccl.bootstrap.JobEnd;
import org.jccl.internal.membership.Candidate.State;
import org.jccl.spi.Arrivals;
import org.jccl.spi.CleanUp;
import org.jccl.spi.Deadline;
import org.jccl.spi.Durations;
import org.jccl.spi.Polling;

/**
 * Makes generations of a group: runs the {@linkplain Candidate agreement} of this rank, and forms
 * the group of each attempt. Used by one thread at a time.
 *
 * @param <G> the group that an attempt forms
 */
public final class Agreement<G> {

    /** The minimum time for the members to form a communicator. */
    private static final Duration MIN_FORMING = Duration.ofSeconds(10);

    private static final Duration POLL = Duration.ofMillis(20);
    private static final Duration WAIT = Duration.ofMillis(200);

    /** Forms the group of an attempt. */
    public interface Forming<G> {

        /**
         * Connects to the members.
         *
         * @param attempt the number of the attempt
         * @param slots the members
         * @param store where they meet; the group owns this connection if this method returns
         * @param time how long that may take
         */
        G connect(int attempt, List<Integer> slots, Store store, Duration time);

        /** Closes a group that other members could not form. */
        void discard(G group);
    }

    private final FailureContext context;
    private final int slot;
    private final int size;
    private final Store store;
    private final StoredKeys keys;
    private final Candidate candidate;
    private final Forming<G> forming;
    private final boolean admitsNewcomers;

    /** Why this rank could not form the group of the last attempt. */
    private Optional<JcclException> failure = Optional.empty();

    /**
     * Creates the agreement of a rank that has been in no generation.
     *
     * @param context the calling rank
     * @param slot the number of the rank among those that the group may have
     * @param size how many ranks the group may have
     * @param minimum how many members a generation has at least
     * @param admitsNewcomers whether a rank that comes too late waits for the next generation
     * @param store the part of the store for this agreement only
     * @param forming forms the groups
     */
    public Agreement(
            FailureContext context,
            int slot,
            int size,
            int minimum,
            boolean admitsNewcomers,
            Store store,
            Forming<G> forming) {
        this.context = context;
        this.slot = slot;
        this.size = size;
        this.admitsNewcomers = admitsNewcomers;
        this.store = store;
        this.keys = new StoredKeys(store);
        this.candidate = new Candidate(slot, UUID.randomUUID().toString(), size, minimum);
        this.forming = forming;
    }

    /** Returns the number of the generation, or a negative number before the first. */
    public int generation() {
        return candidate.generation();
    }

    /** Returns whether ranks wait for the generation after this one. */
    public boolean hasNewcomers() {
        return keys.hasCandidate(candidate.generation() + 1);
    }

    /**
     * Returns a question for any thread: which members of the group that is being formed were
     * replaced since, because another candidate has announced itself in their slot.
     */
    public Supplier<List<Integer>> replacedMembers() {
        Members members = candidate.members();
        int next = candidate.attempt() + 1;
        return () ->
                keys.hasCandidate(next) ? members.replacedBy(keys.present(next, size)) : List.of();
    }

    /**
     * Leaves the generation and returns the next one that is made.
     *
     * @param patience how long to wait for ranks that do not come
     * @param timeout for how long attempts are made
     * @throws GroupAbortedException if the others continued without this rank and admit nobody, or
     *     another process took its place
     * @throws UsageException if this rank cannot form a group, and could not another time
     * @throws OperationTimeoutException if the timeout is over
     */
    public G next(Duration patience, Duration timeout) {
        Duration most = shorter(patience.multipliedBy(2), timeout);
        Duration time = MIN_FORMING.compareTo(most) > 0 ? MIN_FORMING : most;
        Deadline end = Deadline.after(timeout);
        candidate.leave();
        while (true) {
            Optional<G> made = attempt(patience, time, end);
            if (made.isPresent()) {
                CleanUp.run(context.toString(), this::forget);
                return made.get();
            }
            requireHope();
            requireTime(end, timeout);
            // What fails at once, for instance for want of descriptors, must not be tried at once.
            failure.ifPresent(last -> Polling.sleep(WAIT));
        }
    }

    private static Duration shorter(Duration one, Duration other) {
        return one.compareTo(other) < 0 ? one : other;
    }

    /** One attempt. Returns empty if the members did not form a group. */
    private Optional<G> attempt(Duration patience, Duration time, Deadline end) {
        if (candidate.state() == State.OPENING) {
            candidate.step(keys, false);
        }
        Deadline waiting = Deadline.after(patience);
        while (isGathering() && !isTooLate()) {
            candidate.step(keys, waiting.hasPassed());
            if (candidate.state() == State.CHECKING) {
                keys.awaitMembers(
                        candidate.attempt(), waiting.hasPassed() ? WAIT : waiting.atMost(WAIT));
            }
            if (isGathering() && (generation() < 0 || waiting.hasPassed())) {
                requireJob();
            }
            if (end.hasPassed() && isGathering()) {
                return Optional.empty();
            }
        }
        requireAdmitted(patience);
        int attempt = candidate.attempt();
        Optional<G> formed = Optional.empty();
        if (candidate.state() == State.FORMING) {
            formed = form(time);
            candidate.formed(formed.isPresent());
        }
        Deadline others = Deadline.after(time.multipliedBy(2));
        while (candidate.state() != State.MADE && candidate.attempt() == attempt) {
            candidate.step(keys, others.hasPassed());
            if (candidate.state() == State.AWAITING || candidate.state() == State.OUTSIDE) {
                Polling.sleep(POLL);
            }
        }
        if (candidate.state() != State.MADE) {
            formed.ifPresent(forming::discard);
            return Optional.empty();
        }
        return formed;
    }

    /** Nobody comes any more once a rank of the job has ended well. */
    private void requireJob() {
        if (admitsNewcomers && JobEnd.isTold(store)) {
            throw new GroupAbortedException(
                    context, "other ranks have ended the job, so no rank can join it");
        }
    }

    private boolean isGathering() {
        return switch (candidate.state()) {
            case ANNOUNCING, GATHERING, COUNTING, CHECKING, DECIDING -> true;
            default -> false;
        };
    }

    private void requireAdmitted(Duration patience) {
        if (candidate.state() == State.DISPLACED) {
            throw new GroupAbortedException(
                    context,
                    "another process, or another thread of this one, joined as rank %s after this one. End this process, or give each its own rank"
                            .formatted(slot));
        }
        if (isTooLate()) {
            throw new GroupAbortedException(
                    context,
                    "ranks %s continued without this one, which arrived too late: they waited for %s. End this process, or let all ranks wait longer"
                            .formatted(withoutThisRank().slots(), Durations.text(patience)));
        }
    }

    private boolean isTooLate() {
        return !admitsNewcomers
                && (candidate.state() == State.OUTSIDE
                        || candidate.lastGeneration() != OpenAttempt.NONE);
    }

    private Members withoutThisRank() {
        return candidate.state() == State.OUTSIDE
                ? candidate.members()
                : Members.parse(keys.read(MembershipKeys.members(candidate.lastGeneration())));
    }

    /**
     * Forms the group over a connection of its own, which is closed if the attempt ends meanwhile.
     * Otherwise members would wait for a rank that was lost until the time is over.
     */
    private Optional<G> form(Duration time) {
        failure = Optional.empty();
        Store own = store.duplicate(store.timeout());
        int attempt = candidate.attempt();
        AttemptWatch watch = AttemptWatch.start(keys, attempt, own::close);
        try {
            return Optional.of(forming.connect(attempt, candidate.members().slots(), own, time));
        } catch (JcclException e) {
            own.close();
            // Otherwise the closed connection is the reason, which means nothing to the user.
            if (!watch.hasEnded()) {
                CleanUp.log(context.toString(), e);
                failure = Optional.of(e);
            }
            return Optional.empty();
        } catch (RuntimeException | Error e) {
            own.close();
            throw e;
        } finally {
            watch.close();
        }
    }

    /** Wrong options stay wrong, and the other ranks must not wait for this one. */
    private void requireHope() {
        if (failure.isPresent() && failure.get() instanceof UsageException) {
            throw failure.get();
        }
    }

    private void requireTime(Deadline end, Duration timeout) {
        if (!end.hasPassed()) {
            return;
        }
        String why =
                failure.map(last -> "the last attempt failed: " + last.getMessage())
                        .orElseGet(() -> "ranks " + missing() + " of " + size + " are missing");
        throw OperationTimeoutException.ofCall(
                context,
                "no group was formed in %s; %s. Start missing ranks again, or end the job"
                        .formatted(Durations.text(timeout), why),
                failure.orElse(null));
    }

    private String missing() {
        Set<Integer> present = keys.present(candidate.attempt(), size).keySet();
        return Arrivals.ranks(
                IntStream.range(0, size).filter(each -> !present.contains(each)).boxed().toList());
    }

    /**
     * One member deletes the keys of earlier attempts, so that a long job does not collect them.
     */
    private void forget() {
        if (candidate.members().slots().get(0) == slot) {
            keys.forgetBefore(candidate.generation());
        }
    }
}
