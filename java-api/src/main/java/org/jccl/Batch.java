package org.jccl;

import java.util.List;

/**
 * A list of operations that are issued together, like PyTorch's {@code batch_isend_irecv} and its
 * coalescing. If the library supports groups of calls, the operations form one group. Sends and
 * receives in both directions then cannot block each other. Arguments, checks and exceptions are
 * those of {@link ProcessGroup}.
 *
 * <p>Not thread-safe. A batch can be issued once. Programs must not implement this interface: later
 * versions may add methods.
 */
public interface Batch {

    /**
     * Adds a send.
     *
     * @param tensor the elements to send
     * @param peer another rank
     * @param tag not negative
     * @return this batch
     */
    Batch send(Tensor tensor, int peer, int tag);

    /**
     * Adds a receive.
     *
     * @param tensor where to store the elements
     * @param peer another rank
     * @param tag not negative
     * @return this batch
     */
    Batch recv(Tensor tensor, int peer, int tag);

    /**
     * Adds a broadcast.
     *
     * @param tensor input on the root, output elsewhere
     * @param root the rank that sends
     * @return this batch
     */
    Batch broadcast(Tensor tensor, int root);

    /**
     * Adds an all-reduce.
     *
     * @param tensor input and output
     * @param op how to combine the elements
     * @return this batch
     */
    Batch allReduce(Tensor tensor, ReduceOp op);

    /**
     * Adds an all-gather.
     *
     * @param output world size times the count of the input
     * @param input the elements of this rank
     * @return this batch
     */
    Batch allGatherSingle(Tensor output, Tensor input);

    /**
     * Adds a reduce-scatter.
     *
     * @param output the part of this rank
     * @param input world size times the count of the output
     * @param op how to combine the elements
     * @return this batch
     */
    Batch reduceScatterSingle(Tensor output, Tensor input, ReduceOp op);

    /**
     * Issues the operations in the order in which they were added.
     *
     * @return one work for each operation, in the same order
     * @throws UsageException if the batch is empty or was issued before, or a tensor was closed
     *     after it was added
     */
    @CheckReturnValue
    List<Work> issue();
}
