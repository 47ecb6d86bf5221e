package org.jccl.internal.engine;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.IntConsumer;
import org.jccl.DataType;
import org.jccl.FailureContext;
import org.jccl.GroupAbortedException;
import org.jccl.JcclException;
import org.jccl.JcclException.Category;
import org.jccl.MismatchException;
import org.jccl.OperationTimeoutException;
import org.jccl.PeerLostException;
import org.jccl.ReduceOp;
import org.jccl.UsageException;
import org.jccl.internal.diagnosis.CallCheck;
import org.jccl.internal.diagnosis.DesyncDetector;
import org.jccl.internal.diagnosis.Diagnosis;
import org.jccl.internal.operation.Observers;
import org.jccl.internal.operation.Operation;
import org.jccl.internal.operation.RecentCollectives;
import org.jccl.internal.operation.Runner;
import org.jccl.internal.operation.RunningOperations;
import org.jccl.internal.operation.RunningOperations.Overdue;
import org.jccl.internal.operation.StuckOperation;
import org.jccl.spi.BoundedCall;
import org.jccl.spi.CallLock;
import org.jccl.spi.Capabilities;
import org.jccl.spi.Capabilities.Feature;
import org.jccl.spi.CleanUp;
import org.jccl.spi.Communicator;
import org.jccl.spi.Durations;
import org.jccl.spi.OperationKind;
import org.jccl.spi.RefusedOperationException;

/**
 * Runs a group's operations on one communicator, and fails them as one: deadlines, asynchronous
 * errors, comparing ranks when one is stuck, and the first cause for every later call.
 */
public abstract class Engine implements Runner {

    /** How long aborted operations may take to leave the library, if the timeout is not shorter. */
    private static final Duration ABORT_GRACE_PERIOD = Duration.ofSeconds(10);

    /** The same for a library whose collectives an abort does not end. */
    private static final Duration ENDLESS_GRACE_PERIOD = Duration.ofSeconds(1);

    /** Of a process that did not end by a signal, so that launchers take it for a failure. */
    private static final int FAILURE_CODE = 1;

    /** How long a library may take to end the job. */
    private static final Duration END_TIMEOUT = Duration.ofSeconds(5);

    /** How long to wait for a thread that asks the library something. */
    private static final Duration ANSWER_TIMEOUT = Duration.ofSeconds(2);

    private static final long IDLE_POLL_MILLIS = 2;

    /** The interval of questions to the store during a split. */
    private static final long SPLIT_CHECK_NANOS = 1_000_000_000;

    private final Communicator communicator;
    private final Map<OperationKind, String> missing;
    public final FailureContext context;
    protected final Duration timeout;

    /** How long aborted operations may take to leave the library. */
    protected final Duration abortGracePeriod;

    protected final DesyncDetector detector;
    public final GroupFailure failure = new GroupFailure();
    protected final RunningOperations running = new RunningOperations();

    /** Guarded by the monitor of the running operations. */
    protected final RecentCollectives collectives = new RecentCollectives();

    private final FutureThread futures;

    /** Guards the communicator's end against calls that come at any time, from any thread. */
    private final CallLock end = new CallLock(() -> false);

    /** Written under the lock of the end. */
    private volatile boolean freed;

    /** Null where calls are not compared; set before the first one. */
    private CallCheck calls;

    /** Whether a failure ends the process. */
    private volatile boolean endsProcess;

    /** Set when this process aborts the group, which is no failure of its own. */
    private volatile boolean aborted;

    /** Set when closing begins; later operations are refused. */
    protected volatile boolean closed;

    /** Whether no thread could be started for the abort, which the watchdog then tries again. */
    private volatile boolean abortsAgain;

    /** How many splits of the group this rank has begun, and how many of them are in progress. */
    private int splits;

    private volatile int splitting;

    /** When the watchdog last asked whether a split lacks a rank. */
    private long splitCheckedNanos;

    /** When the watchdog first saw an operation over its deadline, or 0. */
    private long expiredNanos;

    /** Since when the watchdog has the cause of a lost peer searched for, or 0. */
    private long explainingNanos;

    public Engine(
            Communicator communicator,
            FailureContext context,
            Duration timeout,
            DesyncDetector detector) {
        this.communicator = communicator;
        this.missing = communicator.capabilities().missing();
        this.context = context;
        this.timeout = timeout;
        Duration longest =
                communicator.capabilities().has(Feature.ENDLESS_COLLECTIVES)
                        ? ENDLESS_GRACE_PERIOD
                        : ABORT_GRACE_PERIOD;
        this.abortGracePeriod = timeout.compareTo(longest) < 0 ? timeout : longest;
        this.detector = detector;
        detector.askWith(this::issued, this::hasLost);
        this.futures = new FutureThread(context, this::prepareWatching, this::completeEnded);
    }

    /** The thread that completes works with a future as soon as they end. */
    public final FutureThread futures() {
        return futures;
    }

    /** Returns an empty operation to fill and {@link #submit}; it may be dropped instead. */
    public abstract Operation newOperation();

    /**
     * Whether several tensors are faster as one operation on a copy of them all than as operations
     * that are issued together, because each operation costs the host a round of messages.
     */
    public abstract boolean flattensLists();

    /** Returns an empty operation to fill and {@link #run}; it may be dropped instead. */
    public final Operation borrow() {
        return running.borrow();
    }

    /**
     * Refuses what the library does not have before it is numbered, so that the group stays as it
     * was. Compares a collective with those of the other ranks, where that was asked for. Lets the
     * operation's memory go if it throws.
     */
    protected final void admit(Operation operation) {
        endOrder(beginOrder(operation));
    }

    /** The same for operations that are issued together. */
    protected final void admit(List<Operation> operations) {
        endOrder(beginOrder(operations));
    }

    /**
     * Does what {@link #admit(Operation)} does, for an engine that fixes the order of calls later.
     *
     * @return whether the call was compared: calls of other threads are rejected until {@link
     *     #endOrder}, which may be called when this call has its place in the order
     */
    protected final boolean beginOrder(Operation operation) {
        requireKnown(operation);
        return calls != null
                && operation.kind.isCollective()
                && !operation.compared
                && compare(List.of(operation));
    }

    /** The same for operations that are issued together. */
    protected final boolean beginOrder(List<Operation> operations) {
        try {
            operations.forEach(this::requireKnown);
            return calls != null && compare(operations);
        } catch (JcclException e) {
            operations.forEach(Operation::releaseMemory);
            throw e;
        }
    }

    /** Ends what {@link #beginOrder} has begun. */
    protected final void endOrder(boolean compared) {
        if (compared) {
            calls.ordered();
        }
    }

    private void requireKnown(Operation operation) {
        String reason = missing.isEmpty() ? null : missing.get(operation.kind);
        if (reason != null
                && isUsable()) { // otherwise the caller reports that the group is unusable
            operation.releaseMemory();
            throw new UsageException(contextOf(operation), reason);
        }
    }

    /**
     * A call that differs, or that other ranks do not make, fails the group.
     *
     * @return whether there is a collective
     */
    private boolean compare(List<Operation> operations) {
        List<Operation> collectives =
                operations.stream().filter(each -> each.kind.isCollective()).toList();
        if (collectives.isEmpty()) {
            return false;
        }
        try {
            calls.compare(collectives, this::requireUsable);
            collectives.forEach(each -> each.compared = true);
            return true;
        } catch (JcclException e) {
            JcclException cause = e.at(contextOf(collectives.get(0)));
            operations.forEach(Operation::releaseMemory);
            if (isUsable()) {
                fail(cause);
                detector.publishSoon();
            }
            throw cause.forCaller();
        }
    }

    /**
     * Waits for what was issued, then frees the communicator. Collectives end, or fail by their
     * deadline, because all ranks issue them; a message may have no partner. Idempotent.
     *
     * @param gracePeriod how long to wait without seeing any end before aborting messages
     */
    public abstract void close(Duration gracePeriod);

    @Override
    public final boolean reduces(ReduceOp op, DataType type) {
        return communicator.reduces(op, type);
    }

    @Override
    public final Capabilities capabilities() {
        return communicator.capabilities();
    }

    /**
     * Calls the communicator with something that is no operation, such as a split. Closing waits
     * for such calls as it waits for operations.
     */
    public final <T> T inside(Function<Communicator, T> call) {
        synchronized (running) {
            requireUsable();
            running.enter();
        }
        try {
            return call.apply(communicator);
        } catch (JcclException e) {
            CleanUp.run(context.toString(), this::learnOfAbort);
            JcclException cause = failure.get();
            // The call ended because the group failed, or the group failed because of the call.
            throw cause != null && e instanceof GroupAbortedException ? cause.forCaller() : e;
        } finally {
            running.leave();
        }
    }

    /**
     * A binding aborts the communicator of a split that was abandoned. Then the group fails with
     * the reason of the split, before other calls meet the abort. The cause of a lost peer is
     * searched for by the watchdog.
     */
    private void learnOfAbort() {
        pollAsyncError(
                noticed -> {
                    if (!(noticed instanceof PeerLostException)) {
                        fail(noticed.at(context));
                    }
                });
    }

    /**
     * Begins a split of the group. Until {@link #endSplit}, the group fails if another rank has
     * failed, or has closed the group after fewer collectives and splits: it will not take part.
     */
    public final void beginSplit() {
        synchronized (running) {
            splits++;
            splitting++;
        }
    }

    /** Ends a split. */
    public final void endSplit() {
        synchronized (running) {
            splitting--;
        }
    }

    private void watchSplits(long now) {
        if (splitting > 0 && !failure.isSet() && now - splitCheckedNanos > SPLIT_CHECK_NANOS) {
            splitCheckedNanos = now;
            detector.askForAbsence(cause -> fail(cause.at(context)));
        }
    }

    /** Waits for everything that was issued; throws if messages do not end within the timeout. */
    public final void awaitQuiet() {
        requireUsable();
        if (!awaitIdle(timeout)) {
            throw OperationTimeoutException.ofCall(
                    context,
                    "split: operations were still in flight after " + Durations.text(timeout),
                    null);
        }
        requireUsable();
    }

    /** Fails everything that runs or waits, and all later calls. */
    public final void fail(JcclException cause) {
        if (failure.set(cause) == cause) {
            detector.noteFailure(cause);
            // The abort below must happen whatever a listener throws.
            CleanUp.run(context.toString(), () -> running.observers().groupFailed(cause));
            if (endsProcess && !closed && !aborted) {
                ProcessEnd.now(
                        context,
                        "the process ends, as onFailure(END_PROCESS) requests, because the group"
                                + " failed",
                        cause,
                        FAILURE_CODE,
                        detector::publishSoon,
                        () -> running.observers().processEnds());
            }
            CleanUp.run(context.toString(), () -> beforeAbort(cause));
            CleanUp.run(context.toString(), this::abortCommunicator);
            onFailure();
        }
    }

    private void abortCommunicator() {
        // Nothing is freed while a question to the library lasts, which may never be answered.
        boolean alone = end.lock(ANSWER_TIMEOUT);
        try {
            if (!freed) {
                communicator.abort();
            }
            abortsAgain = false;
        } catch (OutOfMemoryError e) {
            if (!abortsAgain) {
                CleanUp.log(context + ": it is aborted as soon as a thread can be started", e);
            }
            abortsAgain = true;
        } finally {
            if (alone) {
                end.unlock();
            }
        }
    }

    /**
     * Ends all processes of the job, because the group has failed and a thread of this one is in a
     * call that nothing ends. Does not return.
     *
     * @param inside the kind of the call
     * @param ender has the library end the other processes
     */
    protected final void endJob(OperationKind inside, IntConsumer ender) {
        JcclException cause = failure.get();
        int code = cause.exitCode();
        String reason =
                "the job ends with exit code %d, because the group failed while a thread was inside"
                        + " a synchronous %s, which the library cannot cancel. The asynchronous"
                        + " call, with await(), throws an exception instead";
        ProcessEnd.now(
                context,
                reason.formatted(code, inside),
                cause,
                code,
                detector::publishSoon,
                () -> {
                    running.observers().processEnds();
                    BoundedCall.run("jccl-end-job", () -> ender.accept(code), END_TIMEOUT);
                });
    }

    /**
     * Fails everything as {@link #fail} does, and reports to the other ranks at once: the process
     * may end before the watchdog's next tick.
     */
    public final void abort(JcclException cause) {
        aborted = true;
        fail(cause);
        detector.publishSoon();
    }

    /** Fails this rank too, asynchronously, if another rank has reported a failure. */
    public final void askForFailure() {
        detector.askForFailure(cause -> fail(cause.at(context)));
    }

    /** The program knows of the failure and continues with another group. */
    public final void replaced() {
        failure.replace();
        detector.replaced();
        onReplaced();
        communicator.awaitAbort();
    }

    /** Called in the thread that makes the other group. */
    protected void onReplaced() {}

    /** Called once when the failure is set, before the communicator is aborted. */
    protected void beforeAbort(JcclException cause) {}

    /** Called once after the group has failed. */
    protected abstract void onFailure();

    private boolean hasLost(int peer) {
        if (!end.lock(ANSWER_TIMEOUT)) {
            return false;
        }
        try {
            return !freed && communicator.hasLost(peer);
        } finally {
            end.unlock();
        }
    }

    private long issued() {
        synchronized (running) {
            return collectives.issued() + splits;
        }
    }

    /** Called first on the watchdog's thread at each tick. */
    protected void prepareWatching() {}

    /** Called on the watchdog's thread at each tick: completes works that nobody waits for. */
    protected abstract void completeUnawaited();

    /** Called again and again while works have futures: completes those that have ended. */
    protected abstract void completeEnded();

    /** Descriptions of the collectives before one, from the newest on. */
    private List<String> issuedBefore(long sequence) {
        synchronized (running) {
            return collectives.before(sequence);
        }
    }

    /** Called on the watchdog's thread at each tick. */
    public final void watch(long now) {
        if (abortsAgain) {
            CleanUp.run(context.toString(), this::abortCommunicator);
        }
        try {
            prepareWatching();
            if (pollAsyncError(noticed -> failWithCause(noticed, now))) {
                completeUnawaited();
                enforceDeadlines(now);
                watchSplits(now);
                detector.publishLater();
            }
        } catch (JcclException e) {
            // Without an answer of the device, deadlines would not be enforced.
            fail(e.at(context));
            detector.publishLater();
        }
    }

    private void enforceDeadlines(long now) {
        Overdue overdue = running.overdue(now, timeout.toNanos(), closed, context);
        if (failure.isSet()) {
            return;
        }
        if (overdue.expired() == null) {
            detector.examineLater(
                    overdue.stuck(),
                    this::issuedBefore,
                    cause -> publishAndFail(cause.at(context)));
        } else if (expiredNanos == 0) {
            expiredNanos = now;
            detector.describeLater(
                    overdue.expired(), positions -> publishAndFail(timedOut(overdue, positions)));
        } else if (now - expiredNanos > Diagnosis.ANSWER_TIMEOUT.toNanos()) {
            fail(timedOut(overdue, detector.silence()));
        }
    }

    private static OperationTimeoutException timedOut(Overdue overdue, String positions) {
        String limit = Durations.text(Duration.ofNanos(overdue.timeoutNanos()));
        return new OperationTimeoutException(
                overdue.expired(), "not complete after " + limit + "; " + positions);
    }

    /** Fails the group; for a lost peer when its cause is known, or when no rank answers. */
    private void failWithCause(JcclException noticed, long now) {
        boolean explains = noticed instanceof PeerLostException && detector.asks();
        boolean unanswered =
                explainingNanos != 0 && now - explainingNanos > Diagnosis.CAUSE_TIMEOUT.toNanos();
        if (!explains || unanswered) {
            fail(noticed.at(context));
        } else if (explainingNanos == 0) {
            explainingNanos = now;
            detector.explainLater((PeerLostException) noticed, cause -> fail(cause.at(context)));
        }
    }

    /** Reports to the other ranks before they notice that the connection is gone. */
    private void publishAndFail(JcclException cause) {
        if (!failure.isSet()) {
            detector.noteFailure(cause);
            detector.publish();
        }
        fail(cause);
    }

    /** Fails the group with an asynchronous error of the library; false if that is freed. */
    protected final boolean pollAsyncError() {
        return pollAsyncError(noticed -> fail(noticed.at(context)));
    }

    private boolean pollAsyncError(Consumer<JcclException> found) {
        JcclException noticed;
        if (failure.isSet() ? end.tryLock() : end.lock(ANSWER_TIMEOUT)) {
            try {
                if (freed) {
                    return false;
                }
                noticed = communicator.asynchronousError();
            } finally {
                end.unlock();
            }
        } else {
            noticed =
                    new GroupAbortedException(
                            FailureContext.NONE,
                            "the library did not return from a query for errors within "
                                    + Durations.text(ANSWER_TIMEOUT));
        }
        if (noticed != null) {
            found.accept(noticed);
        }
        return true;
    }

    /** Compares each collective with those of the other ranks from now on. */
    public final void checkCalls(CallCheck check) {
        calls = check;
    }

    /** Ends the process if the group fails. */
    public final void endProcessOnFailure() {
        endsProcess = true;
    }

    /** Shows all operations to these observers from now on. */
    public final void observe(Observers others) {
        running.observe(others);
    }

    public final Observers observers() {
        return running.observers();
    }

    /**
     * Refuses operations from now on, unless that was done before. Operations and calls of {@link
     * #inside} begin under the same monitor, so that none is missed afterwards.
     */
    protected final boolean beginClosing() {
        synchronized (running) {
            if (closed) {
                return false;
            }
            closed = true;
            return true;
        }
    }

    /** Waits for what runs, or aborts it; the group is closed. */
    protected final void endOperations(Duration gracePeriod) {
        if (!awaitIdle(gracePeriod)) {
            fail(
                    new GroupAbortedException(
                            context,
                            "the group was closed while sends or receives were in flight, or while"
                                    + " groups were being made from it"));
            awaitIdle(abortGracePeriod);
        }
        detector.publishSoon();
        if (running.isEmpty() && !failure.isSet()) {
            // Before the connections end, so that no rank takes this one for lost.
            detector.leave();
        }
        if (!running.isEmpty()) {
            CleanUp.log(
                    context + ": its communicator was not freed",
                    running.count() + " operations or threads did not return from the library");
        }
    }

    /**
     * Returns true when nothing runs, or false when nothing has ended for a grace period. A healthy
     * group waits longer for operations that must end: they have their own deadline.
     */
    private boolean awaitIdle(Duration gracePeriod) {
        long deadline = System.nanoTime() + gracePeriod.toNanos();
        int fewest = Integer.MAX_VALUE;
        boolean interrupted = false;
        try {
            while (true) {
                completeUnawaited();
                int left = running.count();
                if (left == 0 && isStillIdle()) {
                    return true;
                }
                if (left < fewest) {
                    // An operation that ended shows that the other side is alive.
                    fewest = left;
                    deadline = System.nanoTime() + gracePeriod.toNanos();
                }
                boolean waitsForMore = running.hasWhatMustEnd() && !failure.isSet();
                if (!waitsForMore && deadline - System.nanoTime() <= 0) {
                    return false;
                }
                try {
                    // Requests and events complete silently, so they are polled.
                    running.awaitEnd(IDLE_POLL_MILLIS);
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** Checks again for works that the last threads left behind when they left the library. */
    private boolean isStillIdle() {
        completeUnawaited();
        return running.isEmpty();
    }

    /** Frees the communicator, when nothing is inside it any more. */
    protected final void freeCommunicator() {
        if (!end.lock(ANSWER_TIMEOUT)) {
            CleanUp.log(
                    context + ": its communicator was not freed",
                    "a thread is stuck in the library");
            return;
        }
        freed = true;
        end.unlock();
        // Without the lock: a library may take seconds, and the watchdog serves other groups too.
        communicator.close();
    }

    public final boolean isUsable() {
        return !closed && !failure.isSet();
    }

    /** Throws if the group cannot take another operation, and releases the operation's memory. */
    protected final void requireUsable(Operation operation) {
        if (!isUsable()) {
            throw refused(operation);
        }
    }

    /** Releases the operation's memory, and returns why an unusable group refuses it. */
    protected final JcclException refused(Operation operation) {
        operation.releaseMemory();
        return refusal(contextOf(operation));
    }

    /** The same for operations that are issued together. */
    protected final void requireUsable(List<Operation> operations) {
        if (!isUsable()) {
            throw refused(operations);
        }
    }

    /** The same for operations that are issued together. */
    protected final JcclException refused(List<Operation> operations) {
        operations.forEach(Operation::releaseMemory);
        return refusal(contextOf(operations.get(0)));
    }

    /** Returns how many operations are in flight, as far as this rank has noticed their ends. */
    public final int operationsInFlight() {
        return running.count();
    }

    /** Throws a UsageException if the group is closed; it may have failed. */
    public final void requireOpen() {
        if (closed) {
            throw new UsageException(context, "the group is closed");
        }
    }

    /** Throws a UsageException if the group is closed, a GroupAbortedException if it failed. */
    public final void requireUsable() {
        if (!isUsable()) {
            throw refusal(context);
        }
    }

    private JcclException refusal(FailureContext where) {
        return closed
                ? new UsageException(where, "the group is closed")
                : failure.forLaterCall(where);
    }

    /**
     * The failure of an operation that the communicator did not start. The group fails as well,
     * unless all ranks refuse the operation alike.
     */
    protected final JcclException notStarted(Throwable thrown, Operation operation) {
        return thrown instanceof RefusedOperationException refused
                ? new UsageException(contextOf(operation), refused.getMessage())
                : failed(thrown, operation);
    }

    /** Fails the group with what the communicator threw, and returns the first cause. */
    public final JcclException failed(Throwable thrown, Operation operation) {
        FailureContext where = contextOf(operation);
        fail(causeOf(thrown, operation, where).at(where));
        if (communicator.abandonsOperations()) {
            operation.retainMemory();
        }
        return failure.get();
    }

    private JcclException causeOf(Throwable thrown, Operation operation, FailureContext where) {
        if (thrown instanceof PeerLostException lost && !failure.isSet()) {
            return operation.kind.isCollective()
                    ? detector.explainSoon(lost)
                    : detector.explainSoon(lost, operation.peer);
        }
        if (thrown instanceof MismatchException seen
                && !failure.isSet()
                && operation.kind.isCollective()) {
            StuckOperation stuck = StuckOperation.of(operation, where);
            return detector.explainSoon(seen, stuck, this::issuedBefore);
        }
        if (thrown instanceof JcclException known && known.category() == Category.FATAL_GROUP) {
            return known;
        }
        // Even a failure that the library calls harmless puts this rank out of step with others.
        return new GroupAbortedException(
                FailureContext.NONE,
                thrown instanceof JcclException known
                        ? "the library rejected the operation: " + known.reason()
                        : "unexpected failure: " + thrown,
                thrown);
    }

    public final FailureContext contextOf(Operation operation) {
        return operation.context(context);
    }
}
