package org.jccl.spi;

import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.jccl.FailureContext;
import org.jccl.GroupAbortedException;
import org.jccl.JcclException;

/**
 * Lifetime of a native communicator whose calls may block for good: one thread is inside at a time,
 * and it is ended exactly once, by an abort or in good order, each on a thread that can be left
 * behind. Safe for use by any thread.
 *
 * <p>The turn is the inner lock: who has it never takes the monitor of this object, except for
 * {@link #abort}, which does not wait.
 */
public abstract class CommunicatorHandle {

    private static final System.Logger LOG = System.getLogger(CommunicatorHandle.class.getName());

    private enum State {
        OPEN,
        ABORTED,
        CLOSED
    }

    private final String library;
    private final String group;
    private final Duration patience;
    private final ReentrantLock turns = new ReentrantLock();
    private volatile State state = State.OPEN;
    private BoundedCall abort;

    /**
     * Starts open.
     *
     * @param library its name, for messages and threads, for instance {@code NCCL}
     * @param group name of the group, likewise
     * @param patience how long the end may take, in good order or not
     */
    protected CommunicatorHandle(String library, String group, Duration patience) {
        this.library = library;
        this.group = group;
        this.patience = patience;
    }

    /**
     * Lets the calling thread in, alone, until {@link #leave}.
     *
     * @throws GroupAbortedException when it was aborted or closed
     */
    protected final void takeTurn() {
        turns.lock();
        if (state != State.OPEN) {
            turns.unlock();
            throw aborted();
        }
    }

    /** Lets the next thread in. */
    public final void leave() {
        turns.unlock();
    }

    /**
     * Tells who is inside.
     *
     * @return true when it is the calling thread
     */
    public final boolean isInside() {
        return turns.isHeldByCurrentThread();
    }

    /**
     * Tells whether calls may be made.
     *
     * @return false once it was aborted or closed
     */
    public final boolean isOpen() {
        return state == State.OPEN;
    }

    /**
     * The name of the group.
     *
     * @return as it was given
     */
    public final String group() {
        return group;
    }

    /**
     * What a call says that comes too late.
     *
     * @return not thrown yet
     */
    protected final GroupAbortedException aborted() {
        return new GroupAbortedException(
                FailureContext.NONE, "the " + library + " communicator was aborted or closed");
    }

    /** Ends everything on a thread of its own; the first call counts, and none waits. */
    public final synchronized void abort() {
        if (state == State.OPEN) {
            state = State.ABORTED;
            abort = BoundedCall.start(thread("abort"), this::endNow);
        }
    }

    private String thread(String what) {
        return "jccl-" + library.toLowerCase(Locale.ROOT) + "-" + what + "-" + group;
    }

    /**
     * Ends the communicator in good order, or waits for the abort that was begun. What goes wrong
     * is logged.
     *
     * @return true when it is gone and what it held was freed; otherwise it is left behind
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
                            ? BoundedCall.run(thread("close"), this::endInOrder, patience)
                            : abort == null || abort.await(patience);
            if (gone) {
                free();
                return true;
            }
            LOG.log(
                    System.Logger.Level.WARNING,
                    "group {0}: its {1} communicator {2}",
                    group,
                    library,
                    leftBehind(inOrder));
        } catch (JcclException e) {
            LOG.log(System.Logger.Level.WARNING, "group " + group + " did not close well", e);
        }
        return false;
    }

    /**
     * Waits for the turn, but not for good: a thread that is inside may be stuck there.
     *
     * @param limit how long
     * @return true when the calling thread is inside now, and has to leave
     */
    protected final boolean tryTurn(Duration limit) {
        try {
            return turns.tryLock(limit.toNanos(), TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            throw new IllegalStateException("nobody interrupts this thread", e);
        }
    }

    /** Waits for the turn, also when the handle is not open any more. */
    protected final void awaitTurn() {
        turns.lock();
    }

    /** Ends whatever runs, after an abort. */
    protected abstract void endNow();

    /** Ends the communicator with its peers, when all operations are done. */
    protected abstract void endInOrder();

    /** Frees what calls needed; nobody is inside any more. */
    protected abstract void free();

    /**
     * Called for a communicator that is not gone in time.
     *
     * @param inOrder whether {@link #endInOrder} still runs, else {@link #endNow} does
     * @return the rest of a sentence about the communicator, for the log
     */
    protected abstract String leftBehind(boolean inOrder);
}
