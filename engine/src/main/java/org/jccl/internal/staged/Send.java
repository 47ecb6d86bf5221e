package org.jccl.internal.staged;

import org.jccl.internal.operation.Operation;
import org.jccl.spi.HostCommunicator;
import org.jccl.spi.HostCommunicator.Mode;

/**
 * A send: it waits for the caller's stream and comes down from the device on a thread of its own,
 * since the caller must not be held up, and then the library has it.
 */
final class Send extends Message {

    /** How long to wait before asking whether the group has failed. */
    private static final long CHECK_MILLIS = 100;

    private boolean handedOver;
    private long request;
    private RuntimeException refusal;

    Send(Messages messages, Operation operation) {
        super(messages, operation);
    }

    /** Gives it to the library, or notes why not; on the thread of the sends. */
    void handOver() {
        try {
            messages.awaitCaller(operation);
            messages.copyDown(this);
            messages.awaitCopies(this);
            long started =
                    messages.communicator.send(
                            memory.address(),
                            operation.count,
                            operation.type,
                            operation.peer,
                            operation.tag,
                            Mode.NONBLOCKING);
            end(started, null);
        } catch (RuntimeException e) {
            end(HostCommunicator.COMPLETE, e);
        } catch (Error e) {
            end(HostCommunicator.COMPLETE, new IllegalStateException(e.toString(), e));
        }
    }

    private synchronized void end(long started, RuntimeException why) {
        request = started;
        refusal = why;
        handedOver = true;
        notifyAll();
    }

    @Override
    boolean hasArrived() {
        synchronized (this) {
            if (!handedOver) {
                return false;
            }
        }
        throwRefusal();
        return request == HostCommunicator.COMPLETE || messages.communicator.test(request);
    }

    @Override
    int arrive() {
        awaitHandedOver();
        throwRefusal();
        return request == HostCommunicator.COMPLETE ? -1 : messages.communicator.await(request);
    }

    /**
     * The thread that hands it over gives up when the group fails, unless it is stuck in the
     * vendor's library.
     */
    private synchronized void awaitHandedOver() {
        boolean interrupted = false;
        try {
            while (!handedOver) {
                if (messages.isOver()) {
                    throw abandon();
                }
                try {
                    wait(CHECK_MILLIS);
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private void throwRefusal() {
        if (refusal != null) {
            throw refusal;
        }
    }
}
