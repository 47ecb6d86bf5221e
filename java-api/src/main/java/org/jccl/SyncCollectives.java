package org.jccl;

import java.util.List;

/**
 * The synchronous operations of a group, like PyTorch's {@code async_op=False}. On host backends,
 * each call runs on the calling thread and returns when it is complete. On device backends, it is
 * enqueued on the current stream of the caller. Earlier asynchronous operations run first.
 *
 * <p>On device backends, the caller must not change the elements of the tensors until the stream
 * has passed the call, as with the caller's own kernels. A tensor may be closed earlier: its memory
 * is freed up to 0.2 s after the stream has passed the call. If the stream does not pass a call
 * within the timeout of the group, the group fails and later calls throw. The barrier blocks the
 * host and throws itself.
 *
 * <p>A call creates no {@link Work}, uses no queue, and usually allocates nothing. Operations,
 * arguments and exceptions are those of {@link ProcessGroup}; each method also throws what {@link
 * Work#await()} throws. Programs must not implement this interface: later versions may add methods.
 */
public interface SyncCollectives {

    /**
     * Copies the elements of the root to all ranks.
     *
     * @param tensor input on the root, output elsewhere; the same count and type on all ranks
     * @param root the rank that sends
     */
    void broadcast(Tensor tensor, int root);

    /**
     * Reduces in place. All ranks get the same bits.
     *
     * @param tensor input and output; the same count and type on all ranks
     * @param op how to combine the elements
     */
    void allReduce(Tensor tensor, ReduceOp op);

    /**
     * Reduces the elements of an array in place. Copies the array to memory that this method
     * allocates, and the result back. The memory is on the host if a backend of the group supports
     * it, otherwise on the group's device. Use a {@link Tensor} for large vectors. Returns when the
     * result is in the array.
     *
     * @param values input and output, float32; the same length on all ranks
     * @param op how to combine the elements
     */
    void allReduce(float[] values, ReduceOp op);

    /**
     * Reduces the elements of an array in place, as {@link #allReduce(float[], ReduceOp)} does.
     *
     * @param values input and output, float64; the same length on all ranks
     * @param op how to combine the elements
     */
    void allReduce(double[] values, ReduceOp op);

    /**
     * Reduces the elements of an array in place, as {@link #allReduce(float[], ReduceOp)} does.
     *
     * @param values input and output, int64; the same length on all ranks
     * @param op how to combine the elements
     */
    void allReduce(long[] values, ReduceOp op);

    /**
     * Reduces the elements of an array in place, as {@link #allReduce(float[], ReduceOp)} does.
     *
     * @param values input and output, int32; the same length on all ranks
     * @param op how to combine the elements
     */
    void allReduce(int[] values, ReduceOp op);

    /**
     * Copies the elements of the root's array to all ranks, through a copy as in {@link
     * #allReduce(float[], ReduceOp)}.
     *
     * @param values input on the root, output elsewhere, float32; the same length on all ranks
     * @param root the rank that sends
     */
    void broadcast(float[] values, int root);

    /**
     * Copies the elements of the root's array to all ranks, through a copy as in {@link
     * #allReduce(float[], ReduceOp)}.
     *
     * @param values input on the root, output elsewhere, float64; the same length on all ranks
     * @param root the rank that sends
     */
    void broadcast(double[] values, int root);

    /**
     * Copies the elements of the root's array to all ranks, through a copy as in {@link
     * #allReduce(float[], ReduceOp)}.
     *
     * @param values input on the root, output elsewhere, int64; the same length on all ranks
     * @param root the rank that sends
     */
    void broadcast(long[] values, int root);

    /**
     * Copies the elements of the root's array to all ranks, through a copy as in {@link
     * #allReduce(float[], ReduceOp)}.
     *
     * @param values input on the root, output elsewhere, int32; the same length on all ranks
     * @param root the rank that sends
     */
    void broadcast(int[] values, int root);

    /**
     * Copies the elements of the root's array to all ranks, through a copy as in {@link
     * #allReduce(float[], ReduceOp)}.
     *
     * @param values input on the root, output elsewhere, int8; the same length on all ranks
     * @param root the rank that sends
     */
    void broadcast(byte[] values, int root);

    /**
     * Gathers the arrays of all ranks, through a copy as in {@link #allReduce(float[], ReduceOp)}.
     *
     * @param values the elements of this rank, float32; the same length on all ranks
     * @return the elements of all ranks in the order of ranks: size of the group times the length
     */
    float[] allGather(float[] values);

    /**
     * Gathers the arrays of all ranks, through a copy as in {@link #allReduce(float[], ReduceOp)}.
     *
     * @param values the elements of this rank, float64; the same length on all ranks
     * @return the elements of all ranks in the order of ranks: size of the group times the length
     */
    double[] allGather(double[] values);

    /**
     * Gathers the arrays of all ranks, through a copy as in {@link #allReduce(float[], ReduceOp)}.
     *
     * @param values the elements of this rank, int64; the same length on all ranks
     * @return the elements of all ranks in the order of ranks: size of the group times the length
     */
    long[] allGather(long[] values);

    /**
     * Gathers the arrays of all ranks, through a copy as in {@link #allReduce(float[], ReduceOp)}.
     *
     * @param values the elements of this rank, int32; the same length on all ranks
     * @return the elements of all ranks in the order of ranks: size of the group times the length
     */
    int[] allGather(int[] values);

    /**
     * Reduces to the root, in place there. The tensors of other ranks are not changed.
     *
     * @param tensor input; output on the root
     * @param root the rank that gets the result
     * @param op how to combine the elements
     */
    void reduce(Tensor tensor, int root, ReduceOp op);

    /**
     * Collects the tensors of all ranks on all ranks. They may differ in size.
     *
     * @param outputs one tensor for each rank, as large as the input of that rank; adjacent slices
     *     of one tensor, in rank order, save a copy
     * @param input the elements of this rank; may be {@code outputs.get(rank())}
     */
    void allGather(List<Tensor> outputs, Tensor input);

    /**
     * Collects the tensors of all ranks in one tensor on all ranks.
     *
     * @param output world size times the count of the input
     * @param input the elements of this rank; may be its own part of {@code output}
     */
    void allGatherSingle(Tensor output, Tensor input);

    /**
     * Collects the tensors of all ranks on the root.
     *
     * @param outputs on the root one tensor for each rank, each as large as the input; an empty
     *     list elsewhere
     * @param input the elements of this rank; on the root it may be {@code outputs.get(root)}
     * @param root the rank that gets them
     */
    void gather(List<Tensor> outputs, Tensor input, int root);

    /**
     * Distributes the tensors of the root, one to each rank.
     *
     * @param output the elements of this rank; on the root it may be {@code inputs.get(root)}
     * @param inputs on the root one tensor for each rank, each as large as the output; an empty
     *     list elsewhere
     * @param root the rank that sends
     */
    void scatter(Tensor output, List<Tensor> inputs, int root);

    /**
     * Reduces the lists of all ranks tensor by tensor. Rank i gets result i. The tensors of a list
     * may differ in size.
     *
     * @param output the result of this rank, as large as {@code inputs.get(rank())}; may be that
     *     tensor
     * @param inputs one tensor for each rank; not changed except for the output
     * @param op how to combine the elements
     */
    void reduceScatter(Tensor output, List<Tensor> inputs, ReduceOp op);

    /**
     * Reduces a tensor. Rank i gets part i of the result.
     *
     * @param output the part of this rank; may be its own part of {@code input}
     * @param input world size times the count of the output; not changed except for the output
     * @param op how to combine the elements
     */
    void reduceScatterSingle(Tensor output, Tensor input, ReduceOp op);

    /**
     * Sends input i to rank i, where it becomes output {@code rank()}. All sizes may differ.
     *
     * @param outputs one tensor for each rank; each may be the input for that rank, which costs a
     *     copy of the inputs
     * @param inputs one tensor for each rank; not changed except for the outputs
     */
    void allToAll(List<Tensor> outputs, List<Tensor> inputs);

    /**
     * Sends part i of the input to rank i. All parts are equal.
     *
     * @param output as large as the input; may be the input, which costs a copy of it
     * @param input a multiple of the world size; not changed unless it is the output
     */
    void allToAllSingle(Tensor output, Tensor input);

    /**
     * Sends part i of the input to rank i. The splits give the sizes of the parts.
     *
     * @param output as many elements as the sum of {@code outputSplits}; may begin where the input
     *     does, which costs a copy of the input
     * @param input as many elements as the sum of {@code inputSplits}; not changed outside the
     *     output
     * @param outputSplits elements from each rank; must equal what that rank sends to this one
     * @param inputSplits elements for each rank
     */
    void allToAllSingle(Tensor output, Tensor input, long[] outputSplits, long[] inputSplits);

    /**
     * Sends to a peer, with tag 0.
     *
     * @param tensor the elements to send
     * @param peer another rank
     */
    default void send(Tensor tensor, int peer) {
        send(tensor, peer, 0);
    }

    /**
     * Sends to a peer. Messages between two ranks with one tag arrive in the order in which they
     * were sent.
     *
     * @param tensor the elements to send
     * @param peer another rank
     * @param tag not negative; must match the tag of the receiver
     */
    void send(Tensor tensor, int peer, int tag);

    /**
     * Receives from a peer, with tag 0.
     *
     * @param tensor where to store the elements; count and type must match the sender
     * @param peer another rank
     */
    default void recv(Tensor tensor, int peer) {
        recv(tensor, peer, 0);
    }

    /**
     * Receives from a peer.
     *
     * @param tensor where to store the elements; count and type must match the sender
     * @param peer another rank
     * @param tag not negative; must match the tag of the sender
     */
    void recv(Tensor tensor, int peer, int tag);

    /**
     * Receives from the rank that sends first with tag 0.
     *
     * @param tensor where to store the elements; count and type must match the sender
     * @return the rank of the sender
     */
    default int recvAnySource(Tensor tensor) {
        return recvAnySource(tensor, 0);
    }

    /**
     * Receives from the rank that sends first.
     *
     * @param tensor where to store the elements; count and type must match the sender
     * @param tag not negative; must match the tag of the sender
     * @return the rank of the sender
     */
    int recvAnySource(Tensor tensor, int tag);

    /**
     * Blocks until all ranks have called it and the earlier collectives of this rank are complete.
     * It applies to one device, as {@link ProcessGroup#barrier} does.
     */
    void barrier();
}
