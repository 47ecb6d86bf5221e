package org.jccl.spi.support;

import java.time.Duration;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Supplier;
import org.jccl.FailureContext;
import org.jccl.GroupAbortedException;
import org.jccl.JcclException;
import org.jccl.spi.BoundedCall;
import org.jccl.spi.CallLock;
import org.jccl.spi.CleanUp;

/**
 * Manages the lifetime of a native communicator whose calls may block forever. One thread is inside
 * at a time. The communicator is ended exactly once, by an abort or an orderly close, on a thread
 * that can be abandoned. Thread-safe.
 *
 * <p>The entry lock is the inner lock: its holder never takes the monitor of this object, except in
 * {@link #abort}, which does not block.
 */
public abstract class CommunicatorHandle {

    private static final System.Logger LOGGER =
            System.getLogger(CommunicatorHandle.class.getName());

    private enum State {
        OPEN,
        ABORTED,
        CLOSED
    }

    private final String library;
    private final String group;
    private final Duration endTimeout;
    private final CallLock entry = new CallLock(() -> !isOpen());

    /** Held during a query of the library. The thread that ends the communicator waits for it. */
    private final CallLock questions = new CallLock(() -> false);

    private volatile State state = State.OPEN;

    /** Why the binding itself aborted it, or null. Written before the state. */
    private JcclException reason;

    /** Null before an abort, and while no thread could be started for it. */
    private BoundedCall abort;

    /**
     * Creates an open handle.
     *
     * @param library the name of the library, for messages and threads, for instance {@code NCCL}
     * @param group the name of the group
     * @param endTimeout how long an abort or an orderly close may take
     */
    protected CommunicatorHandle(String library, String group, Duration endTimeout) {
        this.library = library;
        this.group = group;
        this.endTimeout = endTimeout;
    }

    /**
     * Lets the calling thread in, alone, until {@link #leave}. Waits only while the handle is open,
     * because the thread that is inside may never return.
     *
     * @throws GroupAbortedException if the handle was aborted or closed
     */
    protected final void acquire() {
        if (!entry.lock()) {
            throw aborted();
        }
        if (state != State.OPEN) {
            entry.unlock();
            throw aborted();
        }
    }

    /** Lets the next thread in. */
    public final void leave() {
        entry.unlock();
    }

    /**
     * Returns whether the calling thread is inside.
     *
     * @return true if it is
     */
    public final boolean isInside() {
        return entry.isHeld();
    }

    /**
     * Returns whether calls may be made.
     *
     * @return false once it was aborted or closed
     */
    public final boolean isOpen() {
        return state == State.OPEN;
    }

    /**
     * Returns the name of the group.
     *
     * @return the name
     */
    public final String group() {
        return group;
    }

    /**
     * Creates the exception of a call after the abort or close.
     *
     * @return the exception, not thrown
     */
    protected final GroupAbortedException aborted() {
        String what = "the " + library + " communicator was aborted";
        // Visible, because it was written before the state that the caller has seen.
        JcclException cause = reason;
        return cause == null
                ? new GroupAbortedException(FailureContext.NONE, what + " or closed")
                : new GroupAbortedException(
                        FailureContext.NONE, what + ": " + cause.reason(), cause);
    }

    /**
     * Aborts the communicator on a separate thread. Only the first call has an effect, unless it
     * could not start the thread. Does not block.
     *
     * @throws OutOfMemoryError if no thread can be started; later calls are refused nevertheless,
     *     and a further call of this method or of {@link #close} tries again
     */
    public final void abort() {
        abort(null);
    }

    /**
     * Aborts the communicator as {@link #abort()} does, for a reason that the group does not know
     * yet.
     *
     * @param why the cause of later failures; null if the group knows the reason
     */
    protected final synchronized void abort(JcclException why) {
        if (state == State.OPEN) {
            reason = why;
            state = State.ABORTED;
        }
        if (state == State.ABORTED && abort == null) {
            abort =
                    BoundedCall.start(
                            thread("abort"),
                            () -> {
                                awaitQuestions();
                                endNow();
                            });
        }
    }

    /**
     * Returns why the binding itself aborted the handle.
     *
     * @return the reason; empty if the handle is open, was closed, or was aborted by the group
     */
    protected final Optional<JcclException> reason() {
        return isOpen() ? Optional.empty() : Optional.ofNullable(reason);
    }

    /** Waits for the query in progress. No other begins, because the handle is not open. */
    private void awaitQuestions() {
        questions.lockAlways();
        questions.unlock();
    }

    /**
     * Runs a query of the library that needs no entry. An open communicator is not freed before the
     * result. An abort does not wait for it.
     *
     * @param question queries the library; called only if the handle is open
     * @return the result, or empty if the handle is not open
     * @param <T> the type of the result, which may be null
     */
    protected final <T> Optional<T> ask(Supplier<T> question) {
        questions.lockAlways();
        try {
            return isOpen() ? Optional.ofNullable(question.get()) : Optional.empty();
        } finally {
            questions.unlock();
        }
    }

    /** Waits for a limited time until a running abort has completed. Its failure is logged. */
    public final void awaitAbort() {
        BoundedCall begun;
        synchronized (this) {
            begun = abort;
        }
        if (begun != null) {
            CleanUp.run("group " + group, () -> begun.await(endTimeout));
        }
    }

    private void endUnasked() {
        awaitQuestions();
        endInOrder();
    }

    private String thread(String what) {
        return "jccl-" + library.toLowerCase(Locale.ROOT) + "-" + what + "-" + group;
    }

    /**
     * Ends the communicator normally, or waits for the abort that has begun. Failures are logged.
     *
     * @return true if it has ended and was freed; false if it was abandoned
     */
    public final boolean close() {
        boolean inOrder;
        synchronized (this) {
            inOrder = state == State.OPEN;
            if (inOrder) {
                state = State.CLOSED;
            }
        }
        try {
            boolean gone =
                    inOrder
                            ? BoundedCall.run(thread("close"), this::endUnasked, endTimeout)
                            : awaitBegunAbort();
            if (gone) {
                free();
                return true;
            }
            LOGGER.log(
                    System.Logger.Level.WARNING,
                    "group {0}: its {1} communicator {2}",
                    group,
                    library,
                    leftBehind(inOrder));
        } catch (JcclException | OutOfMemoryError e) {
            LOGGER.log(
                    System.Logger.Level.WARNING, "group " + group + " did not close normally", e);
        }
        return false;
    }

    /** Also starts it if there was no thread for it before; true for a handle that was closed. */
    private boolean awaitBegunAbort() {
        BoundedCall begun;
        synchronized (this) {
            if (state == State.CLOSED) {
                return true;
            }
            abort(null);
            begun = abort;
        }
        return begun.await(endTimeout);
    }

    /**
     * Lets the calling thread in, even if the handle is not open. Waits for a limited time, because
     * a thread that is inside may never return. An interrupt does not end the wait; the flag stays
     * set.
     *
     * @param limit how long to wait
     * @return true if the calling thread is inside and must leave
     */
    protected final boolean tryAcquire(Duration limit) {
        return entry.lock(limit);
    }

    /**
     * Lets the calling thread in, even if the handle is not open. May wait until the process ends,
     * so only {@link #endNow} and {@link #endInOrder} call it.
     */
    protected final void acquireAlways() {
        entry.lockAlways();
    }

    /** Ends all running operations, after an abort. */
    protected abstract void endNow();

    /** Ends the communicator together with its peers, when all operations are complete. */
    protected abstract void endInOrder();

    /** Frees the resources of calls. No thread is inside any more. */
    protected abstract void free();

    /**
     * Describes a communicator that did not end in time.
     *
     * @param inOrder whether {@link #endInOrder} still runs; otherwise {@link #endNow} does
     * @return the rest of a sentence about the communicator, for the log
     */
    protected abstract String leftBehind(boolean inOrder);
}
