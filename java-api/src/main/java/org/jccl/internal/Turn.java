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

    /** The lowest bit is set while there are reasons against working alone. */
    private static final long BLOCKED = 1;

    /** The bits above it number collectives. */
    private static final long COLLECTIVE = 2;

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
    private int reasons;

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
        if ((seen & BLOCKED) != 0) {
            return false;
        }
        operation.sequence = seen / COLLECTIVE;
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
        if ((state & BLOCKED) != 0) {
            synchronized (running) {
                running.signal();
            }
        }
    }

    /** The number of the next collective. The caller has the turn, or has it blocked. */
    long number() {
        return (long) STATE.getAndAdd(this, COLLECTIVE) / COLLECTIVE;
    }

    /**
     * From now on nobody begins to work alone, until as many calls of {@link #unblock}. The caller
     * has the monitor of the running operations.
     */
    void block() {
        if (reasons++ == 0) {
            STATE.getAndBitwiseOr(this, BLOCKED);
        }
    }

    /** Takes one reason back. The caller has the monitor of the running operations. */
    void unblock() {
        if (--reasons == 0) {
            STATE.getAndBitwiseAnd(this, ~BLOCKED);
        }
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
