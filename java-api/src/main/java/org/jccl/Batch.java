package org.jccl;

import java.util.List;

/**
 * Operations that are issued together, as PyTorch's {@code batch_isend_irecv} and coalescing: with
 * libraries that know groups of calls they become one, so that for instance sends and receives in
 * both directions can not block each other. Arguments and their checks are those of {@link
 * ProcessGroup}.
 *
 * <p>Not safe for use by several threads. A batch is issued once. Programs do not implement this
 * interface: later versions may add methods.
 */
public interface Batch {

    /**
     * Adds a send.
     *
     * @param tensor elements to send
     * @param peer another rank
     * @param tag not negative
     * @return this batch
     */
    Batch send(Tensor tensor, int peer, int tag);

    /**
     * Adds a receive.
     *
     * @param tensor where to
     * @param peer another rank
     * @param tag not negative
     * @return this batch
     */
    Batch recv(Tensor tensor, int peer, int tag);

    /**
     * Adds a broadcast.
     *
     * @param tensor in on the root, out elsewhere
     * @param root rank that sends
     * @return this batch
     */
    Batch broadcast(Tensor tensor, int root);

    /**
     * Adds a reduction to all.
     *
     * @param tensor in and out
     * @param op how to combine
     * @return this batch
     */
    Batch allReduce(Tensor tensor, ReduceOp op);

    /**
     * Adds a gather to all.
     *
     * @param output world size times the input's count
     * @param input this rank's elements
     * @return this batch
     */
    Batch allGatherSingle(Tensor output, Tensor input);

    /**
     * Adds a reduce-scatter.
     *
     * @param output this rank's part
     * @param input world size times the output's count
     * @param op how to combine
     * @return this batch
     */
    Batch reduceScatterSingle(Tensor output, Tensor input, ReduceOp op);

    /**
     * Issues what was added, in that order.
     *
     * @return one work an operation, in the same order
     * @throws UsageException when the batch is empty or was issued before, or a tensor was closed
     *     since it was added
     */
    List<Work> issue();
}
