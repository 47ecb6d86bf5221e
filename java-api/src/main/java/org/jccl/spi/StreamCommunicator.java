package org.jccl.spi;

import org.jccl.DataType;
import org.jccl.ReduceOp;

/**
 * A communicator whose library enqueues on a stream of a device and returns, as NCCL, HCCL and SCCL
 * do. An operation is complete when the stream has passed it, which the engine finds out by the
 * events of the {@link DeviceRuntime}; the library answers no requests.
 *
 * <p>The engine serialises operations, while {@link #abort} may come at any time.
 */
public non-sealed interface StreamCommunicator extends Communicator {

    /**
     * Copies root's elements to all.
     *
     * @param address in and out
     * @param count elements
     * @param type element type
     * @param root rank
     * @param stream native stream to enqueue on
     */
    void broadcast(long address, long count, DataType type, int root, long stream);

    /**
     * Reduces to all ranks.
     *
     * @param input elements of this rank
     * @param output result; may equal {@code input}
     * @param count elements
     * @param type element type
     * @param op operation
     * @param stream native stream to enqueue on
     */
    void allReduce(long input, long output, long count, DataType type, ReduceOp op, long stream);

    /**
     * Reduces to the root.
     *
     * @param input elements of this rank, unchanged on other ranks than root
     * @param output result on the root, may equal {@code input}; not read elsewhere
     * @param count elements
     * @param type element type
     * @param op operation
     * @param root rank
     * @param stream native stream to enqueue on
     */
    void reduce(
            long input, long output, long count, DataType type, ReduceOp op, int root, long stream);

    /**
     * Concatenates the ranks' elements on all ranks.
     *
     * @param input elements of this rank; may be its own place inside {@code output}
     * @param output {@code count} times size elements
     * @param count elements a rank
     * @param type element type
     * @param stream native stream to enqueue on
     */
    void allGather(long input, long output, long count, DataType type, long stream);

    /**
     * Concatenates different numbers of elements on all ranks.
     *
     * @param input elements of this rank; may be its own place inside {@code output}
     * @param output sum of {@code counts} elements
     * @param counts elements of each rank
     * @param type element type
     * @param stream native stream to enqueue on
     */
    void allGatherV(long input, long output, long[] counts, DataType type, long stream);

    /**
     * Concatenates the ranks' elements on the root.
     *
     * @param input elements of this rank
     * @param output on the root {@code count} times size elements; 0 elsewhere
     * @param count elements a rank
     * @param type element type
     * @param root rank
     * @param stream native stream to enqueue on
     */
    void gather(long input, long output, long count, DataType type, int root, long stream);

    /**
     * Deals the root's elements out to the ranks.
     *
     * @param input on the root {@code count} times size elements; 0 elsewhere
     * @param output elements of this rank
     * @param count elements a rank
     * @param type element type
     * @param root rank
     * @param stream native stream to enqueue on
     */
    void scatter(long input, long output, long count, DataType type, int root, long stream);

    /**
     * Reduces, and leaves each rank its part of the result.
     *
     * @param input {@code count} times size elements; not changed
     * @param output {@code count} elements; not inside {@code input}
     * @param count elements a rank
     * @param type element type
     * @param op operation
     * @param stream native stream to enqueue on
     */
    void reduceScatter(
            long input, long output, long count, DataType type, ReduceOp op, long stream);

    /**
     * Reduces, and leaves each rank its part of the result, parts of different sizes.
     *
     * @param input sum of {@code counts} elements; not changed
     * @param output as many elements as this rank's count
     * @param counts elements of each rank's part
     * @param type element type
     * @param op operation
     * @param stream native stream to enqueue on
     */
    void reduceScatterV(
            long input, long output, long[] counts, DataType type, ReduceOp op, long stream);

    /**
     * Sends part j of rank i's input to part i of rank j's output.
     *
     * @param input {@code count} times size elements
     * @param output {@code count} times size elements, not the same memory
     * @param count elements a part
     * @param type element type
     * @param stream native stream to enqueue on
     */
    void allToAll(long input, long output, long count, DataType type, long stream);

    /**
     * All to all with parts of different sizes.
     *
     * @param input sum of {@code inputCounts} elements
     * @param output sum of {@code outputCounts} elements, not the same memory
     * @param inputCounts elements for each rank
     * @param outputCounts elements from each rank
     * @param type element type
     * @param stream native stream to enqueue on
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
     * @param address elements
     * @param count number of elements
     * @param type element type
     * @param peer rank, never this one
     * @param tag not negative
     * @param stream native stream to enqueue on
     */
    void send(long address, long count, DataType type, int peer, int tag, long stream);

    /**
     * Receives from a peer.
     *
     * @param address where to
     * @param count number of elements
     * @param type element type
     * @param peer rank, never this one, or {@link #ANY_SOURCE}
     * @param tag not negative
     * @param stream native stream to enqueue on
     */
    void recv(long address, long count, DataType type, int peer, int tag, long stream);

    /**
     * Returns when all ranks have called it.
     *
     * @param stream native stream to enqueue on
     */
    void barrier(long stream);

    /** Opens a batch: what is issued until {@link #batchEnd} starts together. */
    default void batchStart() {}

    /** Closes a batch. */
    default void batchEnd() {}
}
