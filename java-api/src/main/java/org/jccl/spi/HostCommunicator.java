package org.jccl.spi;

import org.jccl.DataType;
import org.jccl.ReduceOp;

/**
 * A communicator whose library works on the calling thread, such as Gloo or MPI.
 *
 * <p>A collective returns when it is complete, like {@code MPI_Allreduce}. The engine runs
 * collectives in order, on its worker or on the waiting thread. A message starts, like {@code
 * MPI_Isend}, and returns a request, which the engine passes to {@link #await} exactly once, or
 * {@link #COMPLETE} if it is already done.
 *
 * <p>Collectives of one communicator never run at the same time. {@link #send}, {@link #recv},
 * {@link #await}, {@link #test} and {@link #abort} may run during a collective.
 */
public non-sealed interface HostCommunicator extends Communicator {

    /** Returned by a message that is done. */
    long COMPLETE = 0;

    /**
     * Copies the elements of the root to all ranks.
     *
     * @param address input on the root, output elsewhere
     * @param count number of elements
     * @param type element type
     * @param root the root
     */
    void broadcast(long address, long count, DataType type, int root);

    /**
     * Reduces the elements of all ranks. All ranks get the result.
     *
     * @param input elements of this rank
     * @param output result; may equal {@code input}
     * @param count number of elements
     * @param type element type
     * @param op the reduction
     */
    void allReduce(long input, long output, long count, DataType type, ReduceOp op);

    /**
     * Reduces the elements of all ranks. The root gets the result.
     *
     * @param input elements of this rank; unchanged except on the root
     * @param output result on the root, may equal {@code input}; not accessed elsewhere
     * @param count number of elements
     * @param type element type
     * @param op the reduction
     * @param root the root
     */
    void reduce(long input, long output, long count, DataType type, ReduceOp op, int root);

    /**
     * Concatenates the elements of all ranks on all ranks.
     *
     * @param input elements of this rank; may be its own part of {@code output}
     * @param output {@code count} times size elements
     * @param count elements of each rank
     * @param type element type
     */
    void allGather(long input, long output, long count, DataType type);

    /**
     * Concatenates different numbers of elements of all ranks on all ranks.
     *
     * @param input elements of this rank; may be its own part of {@code output}
     * @param output as many elements as the sum of {@code counts}
     * @param counts elements of each rank
     * @param type element type
     */
    void allGatherV(long input, long output, long[] counts, DataType type);

    /**
     * Concatenates the elements of all ranks on the root.
     *
     * @param input elements of this rank; on the root it may be its own part of {@code output}
     * @param output on the root {@code count} times size elements; 0 elsewhere
     * @param count elements of each rank
     * @param type element type
     * @param root the root
     */
    void gather(long input, long output, long count, DataType type, int root);

    /**
     * Distributes the elements of the root to all ranks.
     *
     * @param input on the root {@code count} times size elements; 0 elsewhere
     * @param output elements of this rank; on the root it may be its own part of {@code input}
     * @param count elements of each rank
     * @param type element type
     * @param root the root
     */
    void scatter(long input, long output, long count, DataType type, int root);

    /**
     * Reduces the elements of all ranks. Each rank gets its part of the result.
     *
     * @param input {@code count} times size elements; not changed except for the output
     * @param output {@code count} elements; may be this rank's part of {@code input}
     * @param count elements of each part
     * @param type element type
     * @param op the reduction
     */
    void reduceScatter(long input, long output, long count, DataType type, ReduceOp op);

    /**
     * Reduces the elements of all ranks. Each rank gets its part of the result; the parts have
     * different sizes.
     *
     * @param input as many elements as the sum of {@code counts}; not changed except for the output
     * @param output as many elements as the count of this rank; may be its part of {@code input}
     * @param counts elements of the part of each rank
     * @param type element type
     * @param op the reduction
     */
    void reduceScatterV(long input, long output, long[] counts, DataType type, ReduceOp op);

    /**
     * Sends part j of the input of rank i to part i of the output of rank j.
     *
     * @param input {@code count} times size elements
     * @param output {@code count} times size elements, not the same memory
     * @param count elements of each part
     * @param type element type
     */
    void allToAll(long input, long output, long count, DataType type);

    /**
     * Sends parts of different sizes from each rank to each rank.
     *
     * @param input as many elements as the sum of {@code inputCounts}
     * @param output as many elements as the sum of {@code outputCounts}, not the same memory
     * @param inputCounts elements for each rank
     * @param outputCounts elements from each rank
     * @param type element type
     */
    void allToAllV(long input, long output, long[] inputCounts, long[] outputCounts, DataType type);

    /**
     * Starts a send to a peer. Must not wait for the peer.
     *
     * @param address the elements
     * @param count number of elements
     * @param type element type
     * @param peer a rank, never this one
     * @param tag not negative
     * @return {@link #COMPLETE} or a request
     */
    long send(long address, long count, DataType type, int peer, int tag);

    /**
     * Starts a receive from a peer. It always returns a request, because {@link #await} returns the
     * sender.
     *
     * @param address where to store the elements
     * @param count number of elements
     * @param type element type
     * @param peer a rank, never this one, or {@link #ANY_SOURCE}
     * @param tag not negative
     * @return {@link #COMPLETE} or a request
     */
    long recv(long address, long count, DataType type, int peer, int tag);

    /** Completes when all ranks have called it. */
    void barrier();

    /**
     * Returns whether a request is complete. The engine calls {@link #await} afterwards.
     *
     * @param request a request of a message
     * @return true if {@link #await} would return at once
     */
    boolean test(long request);

    /**
     * Blocks until a request is complete, and frees it.
     *
     * @param request a request of a message
     * @return the rank of the sender for a receive, otherwise -1
     */
    int await(long request);

    /**
     * Ends all processes of the job with an exit code, like {@code MPI_Abort}. The engine calls it
     * only if the library has {@link Capabilities.Feature#ENDLESS_COLLECTIVES}, and ends its own
     * process afterwards.
     *
     * @param code the exit code
     */
    default void endJob(int code) {}
}
