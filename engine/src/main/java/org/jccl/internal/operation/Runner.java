package org.jccl.internal.operation;

import java.util.List;
import org.jccl.DataType;
import org.jccl.ReduceOp;
import org.jccl.Work;
import org.jccl.spi.Capabilities;

/** The engine of an operation: it runs the operation, and knows what the library can do. */
public interface Runner {

    /**
     * Runs a pooled operation in the caller's own order, takes the object back, and returns the
     * rank of the sender for a receive, else -1.
     */
    int run(Operation operation);

    /** Issues an operation that is not pooled. */
    Work submit(Operation operation);

    /** Issues operations that start together, and returns their works in the same order. */
    List<Work> submitBatch(List<Operation> operations);

    /** Whether the library reduces a type with an operation. */
    boolean reduces(ReduceOp op, DataType type);

    /** What the library can do, the same for the engine's life. */
    Capabilities capabilities();
}
