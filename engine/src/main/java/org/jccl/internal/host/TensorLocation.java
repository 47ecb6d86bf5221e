package org.jccl.internal.host;

import java.util.function.Consumer;
import org.jccl.FailureContext;
import org.jccl.JcclException;
import org.jccl.internal.engine.GroupFailure;
import org.jccl.internal.memory.HostMemory;
import org.jccl.internal.operation.Operation;
import org.jccl.spi.HostCommunicator;

/** Where a library that works on the host finds the tensors of its group. */
public interface TensorLocation {

    /** The host's own memory. */
    TensorLocation HOST =
            new TensorLocation() {
                @Override
                public void orderAfterCaller(Operation operation) {}

                @Override
                public void enter() {}

                @Override
                public Staging staging(HostCommunicator communicator, GroupFailure failure) {
                    return new PartsStaging(communicator, HostMemory.get().scratch());
                }
            };

    /**
     * Orders an operation after what the calling thread has enqueued, by waiting for it or by
     * noting what the thread that runs the operation must wait for.
     */
    void orderAfterCaller(Operation operation);

    /** Prepares the calling thread for calls into the library. */
    void enter();

    /** Prepares a thread that is not the program's, before it enters for the first time. */
    default void prepareOwnThread() {}

    /** Whether several tensors are better copied together than each taken where it is. */
    default boolean flattensLists() {
        return true;
    }

    /**
     * Made once, for the engine that owns this location.
     *
     * @param communicator the engine's
     * @param failure the engine's; once it is set, waits end
     */
    Staging staging(HostCommunicator communicator, GroupFailure failure);

    /**
     * As {@link #orderAfterCaller(Operation)}, for an operation that is about to be issued; a
     * failure leaves the group as it was.
     */
    default void orderAfterCaller(Operation operation, FailureContext group) {
        try {
            orderAfterCaller(operation);
        } catch (JcclException e) {
            operation.releaseMemory();
            throw e.at(operation.context(group));
        }
    }

    /** Enters, or passes on why that is no longer possible. */
    default boolean tryEnter(Consumer<JcclException> failed) {
        try {
            enter();
            return true;
        } catch (JcclException e) {
            failed.accept(e);
            return false;
        }
    }
}
