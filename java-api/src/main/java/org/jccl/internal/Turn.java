package org.jccl.internal;

/**
 * The right to issue collectives, of one thread at a time, as often as it likes. Guarded by the
 * monitor of the running operations: a synchronous call takes the turn and begins its operation in
 * one section, and a second lock would cost as much as the first.
 */
final class Turn {

    private final RunningOperations running;
    private Thread holder;
    private int depth;

    Turn(RunningOperations running) {
        this.running = running;
    }

    /** Blocks until no other thread has it. The caller has the monitor. */
    void await() {
        boolean interrupted = false;
        while (isTaken()) {
            try {
                running.awaitSignal(0);
            } catch (InterruptedException e) {
                interrupted = true; // the thread that has it goes on all the same
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private boolean isTaken() {
        return holder != null && holder != Thread.currentThread();
    }

    /** Takes it, where no other thread has it. The caller has the monitor. */
    void hold() {
        holder = Thread.currentThread();
        depth++;
    }

    /** Gives it back once for each time that it was taken. The caller has the monitor. */
    void drop() {
        depth--;
        if (depth == 0) {
            holder = null;
            running.signal();
        }
    }

    /** Takes it as soon as no other thread has it. */
    void take() {
        synchronized (running) {
            await();
            hold();
        }
    }

    /** Takes it unless another thread has it. */
    boolean tryTake() {
        synchronized (running) {
            if (isTaken()) {
                return false;
            }
            hold();
            return true;
        }
    }

    /** Gives it back. */
    void leave() {
        synchronized (running) {
            drop();
        }
    }
}
