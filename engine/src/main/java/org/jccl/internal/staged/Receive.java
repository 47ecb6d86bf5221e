package org.jccl.internal.staged;

import org.jccl.internal.operation.Operation;

/**
 * A receive: the library has it from the beginning. What came is copied up to the device once the
 * caller's stream is where it was at the call. The thread that asks or waits brings it forward.
 */
final class Receive extends Message {

    private final long request;
    private int source = -1;
    private boolean received;
    private boolean copying;

    Receive(HostMemoryStaging staging, Operation operation) {
        super(staging, operation);
        try {
            request =
                    staging.communicator.recv(
                            transfer.address(),
                            operation.count,
                            operation.type,
                            operation.peer,
                            operation.tag);
        } catch (RuntimeException e) {
            transfer.end();
            throw e;
        }
    }

    @Override
    boolean hasArrived() {
        if (!received) {
            if (!staging.communicator.test(request)) {
                return false;
            }
            receive();
        }
        if (!copying) {
            if (!staging.location.hasCallerArrived(operation)) {
                staging.polling.requireNoFailure();
                return false;
            }
            copyUp();
        }
        return transfer.isCopied();
    }

    @Override
    int arrive() {
        if (!received) {
            receive();
        }
        if (!copying) {
            staging.location.awaitCaller(operation, staging.polling);
            copyUp();
        }
        transfer.awaitCopy();
        return source;
    }

    private void receive() {
        source = staging.communicator.await(request);
        received = true;
    }

    private void copyUp() {
        copying = true;
        transfer.copyUp();
    }
}
