package org.jccl.internal.staged;

import org.jccl.internal.operation.Operation;

/**
 * A message between two ranks, on its way through host memory. One thread at a time asks or waits,
 * and the engine waits for each once, also for those that failed.
 */
abstract class Message {

    final Messages messages;
    final Operation operation;
    final PinnedMemory.Piece memory;
    private RuntimeException failure;

    /** The device must be current. */
    Message(Messages messages, Operation operation) {
        this.messages = messages;
        this.operation = operation;
        this.memory = messages.roomFor(operation);
    }

    /** Whether it is where it belongs; never blocks. */
    abstract boolean hasArrived();

    /** Returns when it is, with the sender's rank for a receive, else -1. */
    abstract int arrive();

    /** Whether {@link #await} would return at once, or throw. */
    final boolean test() {
        try {
            return failure != null || hasArrived();
        } catch (RuntimeException e) {
            failure = e;
            return true;
        }
    }

    final int await() {
        try {
            if (failure != null) {
                throw failure;
            }
            int source = arrive();
            messages.giveBack(this);
            return source;
        } catch (RuntimeException e) {
            messages.giveBackAfterFailure(this);
            throw e;
        }
    }
}
