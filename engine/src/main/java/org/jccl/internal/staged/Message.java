package org.jccl.internal.staged;

import org.jccl.internal.operation.Operation;

/**
 * A message between two ranks, on its way through host memory. One thread at a time asks or waits,
 * and the engine waits for each once, also for those that failed. A message that has not ended some
 * time after the failure of its group is abandoned, together with its memory.
 */
abstract class Message {

    final Messages messages;
    final Operation operation;
    final PinnedMemory.Piece memory;
    private RuntimeException failure;
    private boolean abandoned;

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

    /** Whether {@link #await} would return or throw at once. Never blocks. */
    final boolean test() {
        if (failure == null) {
            try {
                if (hasArrived()) {
                    return true;
                }
            } catch (RuntimeException e) {
                failure = e;
            }
        }
        if (failure == null && messages.isOver()) {
            failure = abandon();
        }
        return abandoned || failure != null && messages.copiesHaveEnded(this);
    }

    /** Gives it up: the library, a copy or a thread may use its memory for ever. */
    final RuntimeException abandon() {
        abandoned = true;
        return messages.tooLate();
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
            if (abandoned) {
                operation.retainMemory();
            } else {
                messages.giveBackAfterFailure(this);
            }
            throw e;
        }
    }
}
