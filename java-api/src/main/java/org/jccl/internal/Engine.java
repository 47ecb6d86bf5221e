package org.jccl.internal;

import java.time.Duration;
import java.util.List;
import org.jccl.DataType;
import org.jccl.FailureContext;
import org.jccl.JcclException;
import org.jccl.ReduceOp;
import org.jccl.Work;
import org.jccl.spi.Communicator;

/**
 * Runs a group's operations on one communicator: in order, with deadlines, and fails them as one.
 */
public sealed interface Engine permits HostEngine {

    /**
     * Whether the library reduces a type with an operation.
     *
     * @param op the operation
     * @param type the element type
     * @return true when it does
     */
    boolean reduces(ReduceOp op, DataType type);

    /**
     * An empty operation to fill and {@link #submit}.
     *
     * @return a fresh object
     */
    Operation newOperation();

    /**
     * Issues an operation.
     *
     * @param operation from {@link #newOperation()}, filled
     * @return its handle
     */
    Work submit(Operation operation);

    /**
     * An empty operation to fill and {@link #run}; dropping it instead is harmless.
     *
     * @return a reused object
     */
    Operation borrow();

    /**
     * Runs an operation in the caller's own order and takes the object back.
     *
     * @param operation from {@link #borrow()}, filled
     * @return rank of the sender for a receive, else -1
     */
    int run(Operation operation);

    /**
     * Issues operations that start together.
     *
     * @param operations from {@link #newOperation()}, filled
     * @return the works, in the same order
     */
    List<Work> submitBatch(List<Operation> operations);

    /**
     * The communicator, for making sub-groups.
     *
     * @return the communicator
     */
    Communicator communicator();

    /**
     * Fails everything that runs or waits, and all later calls.
     *
     * @param cause the reason
     */
    void fail(JcclException cause);

    /**
     * Where a failure outside any operation happened.
     *
     * @return group and rank
     */
    FailureContext context();

    /**
     * Waits for what was issued, then frees the communicator. Idempotent.
     *
     * @param timeout how long to wait before aborting
     */
    void close(Duration timeout);
}
