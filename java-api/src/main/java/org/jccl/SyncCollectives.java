package org.jccl;

import java.util.List;

/**
 * A group's operations in the caller's own order, as PyTorch's {@code async_op=False}. On host
 * backends each call runs on the calling thread and returns when it is done; on device backends it
 * is enqueued in the order of the caller's current stream. What was issued asynchronously before
 * runs before it.
 *
 * <p>On device backends the elements of the tensors must stay as they are until the stream has
 * passed the call, as with a kernel of the caller's own. A tensor may be closed before: its memory
 * is freed when the stream has, and somewhat later (a tenth of a second or two). A call that the
 * stream does not pass in the group's timeout fails the group: later calls throw. The barrier
 * blocks the host and throws itself.
 *
 * <p>No {@link Work}, no queue, and as a rule no garbage. The operations, their arguments and
 * exceptions are those of {@link ProcessGroup}; besides, each throws what {@link Work#await()}
 * would. Programs do not implement this interface: later versions may add methods.
 */
public interface SyncCollectives {

    /**
     * Copies root's elements to all ranks.
     *
     * @param tensor in on the root, out elsewhere; the same count and type on all ranks
     * @param root rank that sends
     */
    void broadcast(Tensor tensor, int root);

    /**
     * Reduces in place; all ranks get the same bits.
     *
     * @param tensor in and out; the same count and type on all ranks
     * @param op how to combine
     */
    void allReduce(Tensor tensor, ReduceOp op);

    /**
     * Reduces to the root, in place there. Other ranks' tensors are not changed.
     *
     * @param tensor in, and out on the root
     * @param root rank that gets the result
     * @param op how to combine
     */
    void reduce(Tensor tensor, int root, ReduceOp op);

    /**
     * Collects every rank's tensor on all ranks. Ranks' tensors may differ in size.
     *
     * @param outputs one tensor a rank, as large as that rank's input; slices of one tensor in rank
     *     order save a copy
     * @param input this rank's elements; may be {@code outputs.get(rank())}
     */
    void allGather(List<Tensor> outputs, Tensor input);

    /**
     * Collects every rank's tensor into one on all ranks.
     *
     * @param output world size times the input's count
     * @param input this rank's elements; may be its own part of {@code output}
     */
    void allGatherSingle(Tensor output, Tensor input);

    /**
     * Collects every rank's tensor on the root.
     *
     * @param outputs on the root one tensor a rank, each as large as the input; an empty list
     *     elsewhere
     * @param input this rank's elements
     * @param root rank that gets them
     */
    void gather(List<Tensor> outputs, Tensor input, int root);

    /**
     * Deals the root's tensors out, one a rank.
     *
     * @param output this rank's elements
     * @param inputs on the root one tensor a rank, each as large as the output; an empty list
     *     elsewhere
     * @param root rank that sends
     */
    void scatter(Tensor output, List<Tensor> inputs, int root);

    /**
     * Reduces the ranks' lists tensor by tensor and leaves result i to rank i. Tensors of one list
     * may differ in size.
     *
     * @param output this rank's result, as large as {@code inputs.get(rank())}
     * @param inputs one tensor a rank; not changed
     * @param op how to combine
     */
    void reduceScatter(Tensor output, List<Tensor> inputs, ReduceOp op);

    /**
     * Reduces, and leaves part i of the result to rank i.
     *
     * @param output this rank's part
     * @param input world size times the output's count; not changed
     * @param op how to combine
     */
    void reduceScatterSingle(Tensor output, Tensor input, ReduceOp op);

    /**
     * Sends input i to rank i, where it becomes output number {@code rank()}. Sizes may all differ.
     *
     * @param outputs one tensor a rank
     * @param inputs one tensor a rank; not changed
     */
    void allToAll(List<Tensor> outputs, List<Tensor> inputs);

    /**
     * Sends part i of the input to rank i, all parts being equal.
     *
     * @param output as large as the input, not the same memory
     * @param input a multiple of the world size; not changed
     */
    void allToAllSingle(Tensor output, Tensor input);

    /**
     * Sends part i of the input to rank i, parts as the splits say.
     *
     * @param output sum of {@code outputSplits} elements, not the input's memory
     * @param input sum of {@code inputSplits} elements; not changed
     * @param outputSplits elements from each rank: what that rank sends to this one
     * @param inputSplits elements for each rank
     */
    void allToAllSingle(Tensor output, Tensor input, long[] outputSplits, long[] inputSplits);

    /**
     * Sends to a peer, with tag 0.
     *
     * @param tensor elements to send
     * @param peer another rank
     */
    void send(Tensor tensor, int peer);

    /**
     * Sends to a peer. Messages between two ranks with one tag arrive in the order they were sent.
     *
     * @param tensor elements to send
     * @param peer another rank
     * @param tag not negative; must match the receiver's
     */
    void send(Tensor tensor, int peer, int tag);

    /**
     * Receives from a peer, with tag 0.
     *
     * @param tensor where to; count and type must be the sender's
     * @param peer another rank
     */
    void recv(Tensor tensor, int peer);

    /**
     * Receives from a peer.
     *
     * @param tensor where to; count and type must be the sender's
     * @param peer another rank
     * @param tag not negative; must match the sender's
     */
    void recv(Tensor tensor, int peer, int tag);

    /**
     * Receives from whoever sends first with tag 0.
     *
     * @param tensor where to; count and type must be the sender's
     * @return rank of the sender
     */
    int recvAnySource(Tensor tensor);

    /**
     * Receives from whoever sends first.
     *
     * @param tensor where to; count and type must be the sender's
     * @param tag not negative; must match the sender's
     * @return rank of the sender
     */
    int recvAnySource(Tensor tensor, int tag);

    /**
     * Completes when all ranks have reached it and the collectives this rank issued before are
     * done.
     */
    void barrier();
}
