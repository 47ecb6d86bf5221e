package org.jccl.internal.host;

import org.jccl.internal.memory.ScratchMemory;
import org.jccl.internal.operation.BounceBuffer;
import org.jccl.internal.operation.Operation;
import org.jccl.spi.HostCommunicator;

/**
 * Copies collectives whose parts are not contiguous, as the library needs. Everything else the
 * library takes where it is.
 */
public final class PartsStaging implements Staging {

    private final HostCommunicator communicator;
    private final BounceBuffer bounce;

    public PartsStaging(HostCommunicator communicator, ScratchMemory scratch) {
        this.communicator = communicator;
        this.bounce = new BounceBuffer(scratch);
    }

    @Override
    public boolean stages(Operation operation) {
        return bounce.needs(operation);
    }

    @Override
    public void run(Operation operation) {
        copy(operation, () -> bounce.before(operation));
        operation.call(communicator);
        copy(operation, () -> bounce.after(operation));
    }

    /** A copy that failed may not have ended. */
    private static void copy(Operation operation, Runnable copies) {
        try {
            copies.run();
        } catch (RuntimeException e) {
            operation.retainMemory();
            throw e;
        }
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
        bounce.close();
    }
}
