package org.jccl.internal.engine;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Function;
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
import org.jccl.Work;
import org.jccl.internal.diagnosis.CallCheck;
import org.jccl.internal.diagnosis.DesyncDetector;
import org.jccl.internal.diagnosis.Diagnosis;
import org.jccl.internal.operation.Observers;
import org.jccl.internal.operation.Operation;
import org.jccl.internal.operation.RecentCollectives;
import org.jccl.internal.operation.RunningOperations;
import org.jccl.internal.operation.Suspect;
import org.jccl.spi.Capabilities;
import org.jccl.spi.CleanUp;
import org.jccl.spi.Communicator;
import org.jccl.spi.Durations;
import org.jccl.spi.OperationKind;
import org.jccl.spi.RefusedOperationException;

/**
 * Runs a group's operations on one communicator, and fails them as one: deadlines, asynchronous
 * errors, comparing ranks when one is stuck, the first cause for all that comes later.
 */
public abstract class Engine {

    private static final long CLOSING_POLL_MILLIS = 2;

    /** How long at most what was aborted may take to leave the library. */
    private static final Duration ABORT_PATIENCE = Duration.ofSeconds(10);

    private final Communicator communicator;
    private final Map<OperationKind, String> missing;
    public final FailureContext context;
    protected final Duration timeout;
    protected final DesyncDetector detector;
    public final GroupFailure failure = new GroupFailure();
    protected final RunningOperations running = new RunningOperations();

    /** Guarded by the monitor of the running operations. */
    protected final RecentCollectives collectives = new RecentCollectives();

    private final FutureThread futures;

    /** Guards the communicator's end against calls that come at any time, from any thread. */
    private final Object end = new Object();

    private boolean freed;

    /** Null where calls are not compared; set before the first one. */
    private CallCheck calls;

    /** Whether a failure ends the process. */
    private volatile boolean endsProcess;

    /** Set when this process aborts the group, which is no failure of its own. */
    private volatile boolean aborted;

    /** Since when an operation is over its deadline; the watchdog's own. */
    private boolean expired;

    private long expiredNanos;

    /** Whether, and since when, the watchdog waits for why a peer is lost; its own. */
    private boolean explaining;

    private long explainingNanos;

    /** Set when closing begins; later operations are refused. */
    protected volatile boolean closed;

    public Engine(
            Communicator communicator,
            FailureContext context,
            Duration timeout,
            DesyncDetector detector) {
        this.communicator = communicator;
        this.missing = communicator.capabilities().missing();
        this.context = context;
        this.timeout = timeout;
        this.detector = detector;
        detector.countWith(this::issued);
        this.futures = new FutureThread(context, this::prepareWatching, this::completeEnded);
    }

    /** The thread that completes works with a future as soon as they end. */
    public final FutureThread futures() {
        return futures;
    }

    /**
     * An empty operation to fill and {@link #submit}.
     *
     * @return dropping it instead is harmless
     */
    public abstract Operation newOperation();

    /**
     * Issues an operation.
     *
     * @param operation from {@link #newOperation()}, filled
     * @return its handle
     */
    public abstract Work submit(Operation operation);

    /**
     * Issues operations that start together.
     *
     * @param operations from {@link #newOperation()}, filled
     * @return the works, in the same order
     */
    public abstract List<Work> submitBatch(List<Operation> operations);

    /**
     * Whether several tensors go faster as one operation on a copy of them all than as operations
     * that are issued together.
     *
     * @return true where each operation costs the host a round of messages
     */
    public abstract boolean flattensLists();

    /**
     * An empty operation to fill and {@link #run}.
     *
     * @return dropping it instead is harmless
     */
    public final Operation borrow() {
        return running.borrow();
    }

    /**
     * Refuses what the library does not have before it is numbered, so that the group stays as it
     * was. Compares a collective with those of the other ranks, where that was asked for. Lets the
     * operation's memory go if it throws.
     */
    protected final void admit(Operation operation) {
        requireKnown(operation);
        if (calls != null && operation.kind.isCollective() && !operation.compared) {
            compare(List.of(operation));
        }
    }

    /** The same for operations that are issued together. */
    protected final void admit(List<Operation> operations) {
        try {
            operations.forEach(this::requireKnown);
            if (calls != null) {
                compare(operations);
            }
        } catch (JcclException e) {
            operations.forEach(Operation::releaseMemory);
            throw e;
        }
    }

    private void requireKnown(Operation operation) {
        String reason = missing.isEmpty() ? null : missing.get(operation.kind);
        if (reason != null && isUsable()) { // what is not usable is said next
            operation.releaseMemory();
            throw new UsageException(contextOf(operation), reason);
        }
    }

    /**
     * Runs an operation in the caller's own order and takes the object back.
     *
     * @param operation from {@link #borrow()}, filled
     * @return rank of the sender for a receive, else -1
     */
    public abstract int run(Operation operation);

    /** A call that differs, or that other ranks do not make, fails the group. */
    private void compare(List<Operation> operations) {
        List<Operation> collectives =
                operations.stream().filter(each -> each.kind.isCollective()).toList();
        if (collectives.isEmpty()) {
            return;
        }
        try {
            calls.compare(collectives, this::requireUsable);
            collectives.forEach(each -> each.compared = true);
        } catch (JcclException e) {
            JcclException cause = e.at(contextOf(collectives.get(0)));
            operations.forEach(Operation::releaseMemory);
            if (isUsable()) {
                fail(cause);
                detector.publishSoon();
            }
            throw cause;
        }
    }

    /**
     * Waits for what was issued, then frees the communicator. Collectives end, or fail by their
     * deadline, because all ranks issue them; a message may have no partner. Idempotent.
     *
     * @param patience how long to wait without seeing any end before aborting messages
     */
    public abstract void close(Duration patience);

    /**
     * Whether the library reduces a type with an operation.
     *
     * @param op the operation
     * @param type the element type
     * @return true when it does
     */
    public final boolean reduces(ReduceOp op, DataType type) {
        return communicator.reduces(op, type);
    }

    /**
     * What the library can do.
     *
     * @return the same for the engine's life
     */
    public final Capabilities capabilities() {
        return communicator.capabilities();
    }

    /**
     * Lets the calling thread into the communicator with a call that is no operation, such as a
     * split. Closing waits for it as it waits for operations.
     *
     * @param <T> what the call returns
     * @param call is given the communicator
     * @return what the call returned
     * @throws UsageException when the group is closed
     * @throws GroupAbortedException when it failed
     */
    public final <T> T inside(Function<Communicator, T> call) {
        synchronized (running) {
            requireUsable();
            running.enter();
        }
        try {
            return call.apply(communicator);
        } finally {
            running.leave();
        }
    }

    /**
     * Waits until nothing that was issued is outstanding, on the host or on a stream.
     *
     * @throws OperationTimeoutException when messages are outstanding for the whole timeout
     */
    public final void awaitQuiet() {
        requireUsable();
        if (!awaitIdle(timeout)) {
            throw new OperationTimeoutException(
                    context, "split: operations were outstanding for " + Durations.text(timeout));
        }
        requireUsable();
    }

    /**
     * Fails everything that runs or waits, and all later calls.
     *
     * @param cause the reason
     */
    public final void fail(JcclException cause) {
        if (failure.set(cause) == cause) {
            detector.noteFailure(cause);
            // Whoever waits must be told, whatever goes wrong in between.
            CleanUp.run(context.toString(), () -> running.observers().groupFailed(cause));
            if (endsProcess && !closed && !aborted) {
                ProcessEnd.now(context, cause, detector::publishSoon);
            }
            CleanUp.run(context.toString(), () -> beforeAbort(cause));
            CleanUp.run(context.toString(), this::abortCommunicator);
            onFailure();
        }
    }

    private void abortCommunicator() {
        synchronized (end) {
            if (!freed) {
                communicator.abort();
            }
        }
    }

    /**
     * Fails everything as {@link #fail} does, and tells the other ranks at once: the process may
     * end before the watchdog's next tick.
     *
     * @param cause the reason
     */
    public final void abort(JcclException cause) {
        aborted = true;
        fail(cause);
        detector.publishSoon();
    }

    /** Notes that the program, which knows of the failure, goes on with another group. */
    public final void replaced() {
        failure.replace();
        detector.replaced();
        onReplaced();
    }

    /** Called in the thread that makes the other group. */
    protected void onReplaced() {}

    /** Called once when the failure is set, before the library lets go of what is stuck. */
    protected void beforeAbort(JcclException cause) {}

    /** Called once after the group has failed. */
    protected abstract void onFailure();

    private long issued() {
        synchronized (running) {
            return collectives.issued();
        }
    }

    /** Called first on the watchdog's thread at each tick. */
    protected void prepareWatching() {}

    /** Called on the watchdog's thread at each tick: completes works that nobody waits for. */
    protected abstract void completeUnawaited();

    /** Called again and again while works have futures: completes those that have ended. */
    protected abstract void completeEnded();

    /** What the ranks compare besides an operation in which they are stuck, from the newest on. */
    private List<String> issuedBefore(long sequence) {
        synchronized (running) {
            return collectives.before(sequence);
        }
    }

    /** Looks after everything that runs; on the watchdog's thread. */
    public final void watch(long now) {
        try {
            lookAfter(now);
        } catch (JcclException e) {
            // A device that can not be asked would keep deadlines and what others wait for away.
            fail(e.at(context));
            detector.publishLater();
        }
    }

    private void lookAfter(long now) {
        prepareWatching();
        if (!askLibrary(noticed -> failLater(noticed, now))) {
            return;
        }
        completeUnawaited();
        RunningOperations.Overdue overdue = running.overdue(now, timeout.toNanos(), context);
        if (!failure.isSet()) {
            if (overdue.expired() != null) {
                expire(overdue.expired(), now);
            } else {
                detector.examineLater(
                        overdue.suspects(),
                        this::issuedBefore,
                        cause -> publishAndFail(cause.at(context)));
            }
        }
        detector.publishLater();
    }

    /** Fails the group, as soon as is known where the other ranks are, or nobody answers. */
    private void expire(FailureContext where, long now) {
        if (!expired) {
            expired = true;
            expiredNanos = now;
            detector.describeLater(positions -> publishAndFail(overdue(where, positions)));
        } else if (now - expiredNanos > Diagnosis.ANSWER_TIMEOUT.toNanos()) {
            fail(overdue(where, detector.silence()));
        }
    }

    private OperationTimeoutException overdue(FailureContext where, String positions) {
        return new OperationTimeoutException(
                where, "not complete after " + Durations.text(timeout) + "; " + positions);
    }

    /**
     * Fails the group with what the library has noticed by itself, if it has.
     *
     * @return false when the communicator is gone
     */
    protected final boolean askLibrary() {
        return askLibrary(noticed -> fail(noticed.at(context)));
    }

    private boolean askLibrary(Consumer<JcclException> found) {
        JcclException noticed;
        synchronized (end) {
            if (freed) {
                return false;
            }
            noticed = communicator.asynchronousError();
        }
        if (noticed != null) {
            found.accept(noticed);
        }
        return true;
    }

    /** Fails the group, for a lost peer as soon as its cause is known, or nobody answers. */
    private void failLater(JcclException noticed, long now) {
        boolean explains = noticed instanceof PeerLostException && detector.asks();
        if (!explains || explaining && now - explainingNanos > Diagnosis.CAUSE_TIMEOUT.toNanos()) {
            fail(noticed.at(context));
        } else if (!explaining) {
            explaining = true;
            explainingNanos = now;
            detector.explainLater((PeerLostException) noticed, cause -> fail(cause.at(context)));
        }
    }

    /** Tells the others before they notice that the connection is gone. */
    private void publishAndFail(JcclException cause) {
        if (!failure.isSet()) {
            detector.noteFailure(cause);
            detector.publish();
        }
        fail(cause);
    }

    /**
     * Has each collective compared with those of the other ranks from now on.
     *
     * @param check of this group and backend
     */
    public final void checkCalls(CallCheck check) {
        calls = check;
    }

    /** Has a failure end the process. */
    public final void endProcessOnFailure() {
        endsProcess = true;
    }

    /** Has others see all operations from now on. */
    public final void observe(Observers others) {
        running.observe(others);
    }

    /** Who sees the operations. */
    public final Observers observers() {
        return running.observers();
    }

    /**
     * Waits until nothing runs. Gives up when nothing has ended for a while, but in a healthy group
     * not on what must end: that does by its own deadline.
     */
    final boolean awaitIdle(Duration patience) {
        long deadline = System.nanoTime() + patience.toNanos();
        int fewest = Integer.MAX_VALUE;
        boolean interrupted = false;
        try {
            while (true) {
                completeUnawaited();
                int left = running.count();
                if (left == 0 && isIdleStill()) {
                    return true;
                }
                if (left < fewest) {
                    // What ended shows that the other side is there.
                    fewest = left;
                    deadline = System.nanoTime() + patience.toNanos();
                }
                boolean waitsForMore = running.hasWhatMustEnd() && !failure.isSet();
                if (!waitsForMore && deadline - System.nanoTime() <= 0) {
                    return false;
                }
                try {
                    // Requests and events complete silently, so they are asked again and again.
                    running.awaitEnd(CLOSING_POLL_MILLIS);
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

    /** Looks again at what the last threads have left behind when they left the library. */
    private boolean isIdleStill() {
        completeUnawaited();
        return running.isEmpty();
    }

    /**
     * Refuses operations from now on. Who begins one, or goes {@link #inside}, looks under the same
     * monitor, so that none is missed afterwards.
     *
     * @return false when that was done before
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
    protected final void endOperations(Duration patience) {
        if (!awaitIdle(patience)) {
            fail(
                    new GroupAbortedException(
                            context,
                            "the group was closed while messages were outstanding, or groups were"
                                    + " being made from it"));
            awaitIdle(timeout.compareTo(ABORT_PATIENCE) < 0 ? timeout : ABORT_PATIENCE);
        }
        detector.publishSoon();
        if (running.isEmpty() && !failure.isSet()) {
            // Before the connections end, so that nobody takes this rank for a lost one.
            detector.leave();
        }
        if (!running.isEmpty()) {
            CleanUp.failed(
                    context + ": its communicator is left behind",
                    new IllegalStateException(
                            running.count() + " operations or threads did not leave the library"));
        }
    }

    /** Frees the communicator, when nothing is inside it any more. */
    protected final void freeCommunicator() {
        synchronized (end) {
            freed = true;
        }
        // Outside: a library may take seconds, and the watchdog has other groups to look after.
        communicator.close();
    }

    public final boolean isUsable() {
        return !closed && !failure.isSet();
    }

    /** Throws when the group can not take another operation, letting the operation's memory go. */
    protected final void requireUsable(Operation operation) {
        if (!isUsable()) {
            operation.releaseMemory();
            throw refusal(contextOf(operation));
        }
    }

    /** The same for operations that are issued together. */
    protected final void requireUsable(List<Operation> operations) {
        if (!isUsable()) {
            operations.forEach(Operation::releaseMemory);
            throw refusal(contextOf(operations.get(0)));
        }
    }

    /**
     * Checks that the group is not closed; it may have failed.
     *
     * @throws UsageException when it is closed
     */
    public final void requireOpen() {
        if (closed) {
            throw new UsageException(context, "the group is closed");
        }
    }

    /**
     * Checks that the group can still be used.
     *
     * @throws UsageException when it is closed
     * @throws GroupAbortedException when it failed
     */
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
     * What an operation that the communicator did not start fails with. The group fails as well,
     * unless all ranks refuse the operation alike.
     */
    protected final JcclException notStarted(Throwable thrown, Operation operation) {
        return thrown instanceof RefusedOperationException refused
                ? new UsageException(contextOf(operation), refused.getMessage())
                : failed(thrown, operation);
    }

    /**
     * Turns what a communicator threw into the failure of the group and returns its first cause.
     */
    protected final JcclException failed(Throwable thrown, Operation operation) {
        fail(causeOf(thrown, operation).at(contextOf(operation)));
        if (communicator.abandonsOperations()) {
            operation.keepMemory();
        }
        return failure.get();
    }

    private JcclException causeOf(Throwable thrown, Operation operation) {
        if (thrown instanceof PeerLostException lost && !failure.isSet()) {
            return operation.kind.isCollective()
                    ? detector.explainSoon(lost)
                    : detector.explainSoon(lost, operation.peer);
        }
        if (thrown instanceof MismatchException seen
                && !failure.isSet()
                && operation.kind.isCollective()) {
            Suspect suspect = Suspect.of(operation, contextOf(operation));
            return detector.explainSoon(seen, suspect, this::issuedBefore);
        }
        if (thrown instanceof JcclException known && known.category() == Category.FATAL_GROUP) {
            return known;
        }
        // One that calls itself harmless is not: this rank is out of step with the others.
        return new GroupAbortedException(
                FailureContext.NONE,
                thrown instanceof JcclException known
                        ? "the library refused it: " + known.reason()
                        : "unexpected failure: " + thrown,
                thrown);
    }

    public final FailureContext contextOf(Operation operation) {
        return operation.context(context);
    }
}
