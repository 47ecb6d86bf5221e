package org.jccl.internal.staged;

import org.jccl.internal.operation.Operation;
import org.jccl.spi.HostCommunicator.Mode;

/**
 * A receive: the library has it from the beginning, and what came goes up to the device when the
 * caller's stream is where it was. Whoever asks brings it forward.
 */
final class Receive extends Message {

    private final long request;
    private int source = -1;
    private boolean received;
    private boolean copied;

    Receive(Messages messages, Operation operation) {
        super(messages, operation);
        try {
            request =
                    messages.communicator.recv(
                            memory.address(),
                            operation.count,
                            operation.type,
                            operation.peer,
                            operation.tag,
                            Mode.NONBLOCKING);
        } catch (RuntimeException e) {
            messages.giveBackAfterFailure(this);
            throw e;
        }
    }

    @Override
    boolean hasArrived() {
        if (!received) {
            if (!messages.communicator.test(request)) {
                return false;
            }
            receive();
        }
        if (!copied) {
            if (!messages.location.hasCallerArrived(operation)) {
                messages.requireNoFailure();
                return false;
            }
            copyUp();
        }
        return messages.copiesAreDone(this);
    }

    @Override
    int arrive() {
        if (!received) {
            receive();
        }
        if (!copied) {
            messages.awaitCaller(operation);
            copyUp();
        }
        messages.awaitCopies(this);
        return source;
    }

    private void receive() {
        source = messages.communicator.await(request);
        received = true;
    }

    private void copyUp() {
        copied = true;
        messages.copyUp(this);
    }
}
