package org.jccl.internal.host;

import org.jccl.internal.memory.ScratchMemory;
import org.jccl.internal.operation.Operation;
import org.jccl.internal.operation.Staging;
import org.jccl.spi.HostCommunicator;
import org.jccl.spi.HostCommunicator.Mode;

/**
 * Carries collectives whose parts lie apart, which the library wants in one piece. Everything else
 * the library takes where it is.
 */
public final class PartsCarrier implements Carrier {

    private final HostCommunicator communicator;
    private final Staging staging;

    public PartsCarrier(HostCommunicator communicator, ScratchMemory scratch) {
        this.communicator = communicator;
        this.staging = new Staging(scratch);
    }

    @Override
    public boolean carries(Operation operation) {
        return staging.needs(operation);
    }

    @Override
    public void run(Operation operation) {
        staging.before(operation);
        operation.call(communicator, Mode.BLOCKING);
        staging.after(operation);
    }

    @Override
    public long start(Operation message) {
        throw new IllegalStateException("a message has no parts");
    }

    @Override
    public boolean test(long request) {
        throw new IllegalStateException("a message has no parts");
    }

    @Override
    public int await(long request) {
        throw new IllegalStateException("a message has no parts");
    }

    @Override
    public void close() {
        staging.close();
    }
}
