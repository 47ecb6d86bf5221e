package org.jccl.spi;

import org.jccl.DataType;
import org.jccl.ReduceOp;

/**
 * A communicator whose library enqueues on a stream of a device and returns, such as NCCL, HCCL or
 * SCCL. An operation is complete when the stream has passed it. The engine detects that with events
 * of the {@link DeviceRuntime}; the library has no requests.
 *
 * <p>The engine serialises operations. {@link #abort} may be called at any time.
 */
public non-sealed interface StreamCommunicator extends Communicator {

    /**
     * Copies the elements of the root to all ranks.
     *
     * @param address input on the root, output elsewhere
     * @param count number of elements
     * @param type element type
     * @param root the root
     * @param stream the native stream on which to enqueue
     */
    void broadcast(long address, long count, DataType type, int root, long stream);

    /**
     * Reduces the elements of all ranks. All ranks get the result.
     *
     * @param input elements of this rank
     * @param output result; may equal {@code input}
     * @param count number of elements
     * @param type element type
     * @param op the reduction
     * @param stream the native stream on which to enqueue
     */
    void allReduce(long input, long output, long count, DataType type, ReduceOp op, long stream);

    /**
     * Reduces the elements of all ranks. The root gets the result.
     *
     * @param input elements of this rank; unchanged except on the root
     * @param output result on the root, may equal {@code input}; not accessed elsewhere
     * @param count number of elements
     * @param type element type
     * @param op the reduction
     * @param root the root
     * @param stream the native stream on which to enqueue
     */
    void reduce(
            long input, long output, long count, DataType type, ReduceOp op, int root, long stream);

    /**
     * Concatenates the elements of all ranks on all ranks.
     *
     * @param input elements of this rank; may be its own part of {@code output}
     * @param output {@code count} times size elements
     * @param count elements of each rank
     * @param type element type
     * @param stream the native stream on which to enqueue
     */
    void allGather(long input, long output, long count, DataType type, long stream);

    /**
     * Concatenates different numbers of elements of all ranks on all ranks.
     *
     * @param input elements of this rank; may be its own part of {@code output}
     * @param output as many elements as the sum of {@code counts}
     * @param counts elements of each rank
     * @param type element type
     * @param stream the native stream on which to enqueue
     */
    void allGatherV(long input, long output, long[] counts, DataType type, long stream);

    /**
     * Concatenates the elements of all ranks on the root.
     *
     * @param input elements of this rank; on the root it may be its own part of {@code output}
     * @param output on the root {@code count} times size elements; 0 elsewhere
     * @param count elements of each rank
     * @param type element type
     * @param root the root
     * @param stream the native stream on which to enqueue
     */
    void gather(long input, long output, long count, DataType type, int root, long stream);

    /**
     * Distributes the elements of the root to all ranks.
     *
     * @param input on the root {@code count} times size elements; 0 elsewhere
     * @param output elements of this rank; on the root it may be its own part of {@code input}
     * @param count elements of each rank
     * @param type element type
     * @param root the root
     * @param stream the native stream on which to enqueue
     */
    void scatter(long input, long output, long count, DataType type, int root, long stream);

    /**
     * Reduces the elements of all ranks. Each rank gets its part of the result.
     *
     * @param input {@code count} times size elements; not changed except for the output
     * @param output {@code count} elements; may be this rank's part of {@code input}
     * @param count elements of each part
     * @param type element type
     * @param op the reduction
     * @param stream the native stream on which to enqueue
     */
    void reduceScatter(
            long input, long output, long count, DataType type, ReduceOp op, long stream);

    /**
     * Reduces the elements of all ranks. Each rank gets its part of the result; the parts have
     * different sizes.
     *
     * @param input as many elements as the sum of {@code counts}; not changed except for the output
     * @param output as many elements as the count of this rank; may be its part of {@code input}
     * @param counts elements of the part of each rank
     * @param type element type
     * @param op the reduction
     * @param stream the native stream on which to enqueue
     */
    void reduceScatterV(
            long input, long output, long[] counts, DataType type, ReduceOp op, long stream);

    /**
     * Sends part j of the input of rank i to part i of the output of rank j.
     *
     * @param input {@code count} times size elements
     * @param output {@code count} times size elements, not the same memory
     * @param count elements of each part
     * @param type element type
     * @param stream the native stream on which to enqueue
     */
    void allToAll(long input, long output, long count, DataType type, long stream);

    /**
     * Sends parts of different sizes from each rank to each rank.
     *
     * @param input as many elements as the sum of {@code inputCounts}
     * @param output as many elements as the sum of {@code outputCounts}, not the same memory
     * @param inputCounts elements for each rank
     * @param outputCounts elements from each rank
     * @param type element type
     * @param stream the native stream on which to enqueue
     */
    void allToAllV(
            long input,
            long output,
            long[] inputCounts,
            long[] outputCounts,
            DataType type,
            long stream);

    /**
     * Sends to a peer.
     *
     * @param address the elements
     * @param count number of elements
     * @param type element type
     * @param peer a rank, never this one
     * @param tag not negative
     * @param stream the native stream on which to enqueue
     */
    void send(long address, long count, DataType type, int peer, int tag, long stream);

    /**
     * Receives from a peer.
     *
     * @param address where to store the elements
     * @param count number of elements
     * @param type element type
     * @param peer a rank, never this one, or {@link #ANY_SOURCE}
     * @param tag not negative
     * @param stream the native stream on which to enqueue
     */
    void recv(long address, long count, DataType type, int peer, int tag, long stream);

    /**
     * Completes when all ranks have called it.
     *
     * @param stream the native stream on which to enqueue
     */
    void barrier(long stream);

    /** Begins a batch. All operations until {@link #batchEnd} start together. */
    default void batchStart() {}

    /** Ends a batch. */
    default void batchEnd() {}
}
