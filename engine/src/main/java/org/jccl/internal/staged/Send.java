package org.jccl.internal.staged;

import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import org.jccl.GroupAbortedException;
import org.jccl.internal.operation.Operation;
import org.jccl.spi.CleanUp;
import org.jccl.spi.HostCommunicator;

/** A send: once a thread of its own has copied it down from the device, the library has it. */
final class Send extends Message {

    /** Gives it to the library, and returns the request. Run by the thread of the sends. */
    final FutureTask<Long> handover = new FutureTask<>(this::handOver);

    Send(HostMemoryStaging staging, Operation operation) {
        super(staging, operation);
    }

    private long handOver() {
        CleanUp.run("thread of sends", staging.location::prepareOwnThread);
        staging.location.awaitCaller(operation, staging.polling);
        transfer.copyDown();
        transfer.awaitCopy();
        return staging.communicator.send(
                transfer.address(), operation.count, operation.type, operation.peer, operation.tag);
    }

    @Override
    boolean hasArrived() {
        if (!handover.isDone()) {
            return false;
        }
        long request = request();
        return request == HostCommunicator.COMPLETE || staging.communicator.test(request);
    }

    @Override
    int arrive() {
        try {
            // The thread gives up when the group fails, unless it is stuck in the vendor's library.
            staging.polling.awaitCopies(handover::isDone);
        } catch (GroupAbortedException e) {
            throw abandon();
        }
        long request = request();
        return request == HostCommunicator.COMPLETE ? -1 : staging.communicator.await(request);
    }

    /** The request of a send that was handed over; throws why it was not. */
    private long request() {
        try {
            return handover.get();
        } catch (ExecutionException e) {
            throw e.getCause() instanceof RuntimeException known
                    ? known
                    : new IllegalStateException(e.getCause().toString(), e.getCause());
        } catch (InterruptedException e) {
            throw new IllegalStateException("a task that is done does not wait", e);
        }
    }
}
