package org.jccl.internal.host;

import java.util.function.Consumer;
import org.jccl.FailureContext;
import org.jccl.JcclException;
import org.jccl.internal.memory.HostMemory;
import org.jccl.internal.memory.ScratchMemory;
import org.jccl.internal.operation.Operation;

/** Where a library that works on the host finds the tensors of its group. */
public interface TensorPlace {

    /** The host's own memory. */
    TensorPlace HOST =
            new TensorPlace() {
                @Override
                public void awaitCaller() {}

                @Override
                public void enter() {}

                @Override
                public ScratchMemory scratch() {
                    return HostMemory.get().scratch();
                }
            };

    /** Blocks until what the calling thread has enqueued before is done. */
    void awaitCaller();

    /** Prepares the calling thread for calls into the library. */
    void enter();

    /** Memory to stage parts in; whoever calls it need not have entered. */
    ScratchMemory scratch();

    /**
     * The same for an operation that is about to be issued; a failure leaves the group as it was.
     */
    default void awaitCaller(Operation operation, FailureContext group) {
        try {
            awaitCaller();
        } catch (JcclException e) {
            operation.releaseMemory();
            throw e.at(operation.context(group));
        }
    }

    /** Enters, or tells why that is not possible any more. */
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
