package org.jccl.internal.staged;

import org.jccl.internal.operation.Operation;

/**
 * A message between two ranks, on its way through host memory. One thread at a time asks or waits,
 * and the engine waits for each message once, also for a failed one. A message that has not ended
 * some time after the failure of its group is abandoned, together with its memory.
 */
abstract class Message {

    final HostMemoryStaging staging;
    final Operation operation;
    final Transfer transfer;
    private RuntimeException failure;
    private boolean abandoned;

    /** The device must be current. */
    Message(HostMemoryStaging staging, Operation operation) {
        this.staging = staging;
        this.operation = operation;
        this.transfer = new Transfer(staging, operation);
    }

    /** Returns whether it is where it belongs; never blocks. */
    abstract boolean hasArrived();

    /** Returns when it is, with the sender's rank for a receive, else -1. */
    abstract int arrive();

    /** Returns whether {@link #await} would return or throw at once. Never blocks. */
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
        if (failure == null && staging.polling.isOver()) {
            failure = abandon();
        }
        return abandoned || failure != null && hasLetGo();
    }

    /** Whether the copy of a failed message is over, or no longer waited for. */
    private boolean hasLetGo() {
        try {
            return transfer.isCopied() || staging.polling.isOver();
        } catch (RuntimeException e) {
            return true; // the end of the transfer throws it again
        }
    }

    /** Gives it up: the library, a copy or a thread may use its memory for ever. */
    final RuntimeException abandon() {
        abandoned = true;
        return staging.polling.tooLate();
    }

    final int await() {
        try {
            if (failure != null) {
                throw failure;
            }
            return arrive();
        } finally {
            if (abandoned) {
                operation.retainMemory();
            } else {
                transfer.end();
            }
        }
    }
}
