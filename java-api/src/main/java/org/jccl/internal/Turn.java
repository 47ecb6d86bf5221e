package org.jccl.internal;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * The right to issue collectives, of one thread at a time, as often as it likes, and their numbers.
 *
 * <p>It is taken under the monitor of the running operations. A thread that is alone, as most are,
 * takes it with one compare-and-set and leaves it with a plain write, since entering and leaving
 * that monitor twice would be a fifth of what a short call costs. That works as long as nobody has
 * a reason against it, such as wanting the turn.
 */
final class Turn {

    /** The lower bits count reasons against working alone, the upper ones number collectives. */
    private static final int REASON_BITS = 16;

    private static final long REASONS = (1L << REASON_BITS) - 1;
    private static final long COLLECTIVE = 1L << REASON_BITS;

    /** A thread that works alone may leave without seeing that another waits. */
    private static final long POLL_MILLIS = 1;

    private static final VarHandle STATE;

    static {
        try {
            STATE = MethodHandles.lookup().findVarHandle(Turn.class, "state", long.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final RunningOperations running;
    private final LoneCall loneCall;

    @SuppressWarnings("unused")
    private volatile long state;

    // Guarded by the monitor of the running operations.
    private Thread holder;
    private int depth;

    Turn(RunningOperations running) {
        this.running = running;
        this.loneCall = running.loneCollective();
    }

    /**
     * Takes it and numbers the operation, if the calling thread may work alone and nobody has a
     * reason against it.
     */
    boolean takeAlone(Operation operation) {
        if (!running.mayWorkAlone()) {
            return false;
        }
        long seen = state;
        if ((seen & REASONS) != 0) {
            return false;
        }
        operation.sequence = seen >>> REASON_BITS;
        // First, so that whoever adds a reason after this has succeeded sees the call.
        loneCall.begin(operation);
        if (STATE.compareAndSet(this, seen, seen + COLLECTIVE)) {
            return true;
        }
        loneCall.end();
        return false;
    }

    /** Gives back what {@link #takeAlone} took. */
    void leaveAlone() {
        loneCall.end();
        if ((state & REASONS) != 0) {
            synchronized (running) {
                running.signal();
            }
        }
    }

    /** The number of the next collective. The caller has the turn, or has it blocked. */
    long number() {
        return (long) STATE.getAndAdd(this, COLLECTIVE) >>> REASON_BITS;
    }

    /** From now on nobody begins to work alone, until as many calls of {@link #unblock}. */
    void block() {
        STATE.getAndAdd(this, 1L);
    }

    void unblock() {
        STATE.getAndAdd(this, -1L);
    }

    private boolean isTaken() {
        return holder == null
                ? loneCall.isUnderWay() && !running.mayWorkAlone()
                : holder != Thread.currentThread();
    }

    /** Takes it as soon as no other thread has it. */
    void take() {
        boolean interrupted = false;
        synchronized (running) {
            block();
            while (isTaken()) {
                try {
                    running.awaitSignal(holder == null ? POLL_MILLIS : 0);
                } catch (InterruptedException e) {
                    interrupted = true; // the thread that has it goes on all the same
                }
            }
            hold();
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** Takes it unless another thread has it. */
    boolean tryTake() {
        synchronized (running) {
            block();
            if (isTaken()) {
                unblock();
                return false;
            }
            hold();
            return true;
        }
    }

    private void hold() {
        holder = Thread.currentThread();
        depth++;
    }

    /** Gives it back, once for each time that it was taken. */
    void leave() {
        synchronized (running) {
            depth--;
            if (depth == 0) {
                holder = null;
                running.signal();
            }
            unblock();
        }
    }
}
