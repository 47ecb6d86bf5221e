package org.jccl.spi;

import org.jccl.DataType;
import org.jccl.ReduceOp;

/**
 * A communicator whose library works on the calling thread, as Gloo and MPI do.
 *
 * <p>An operation in {@link Mode#BLOCKING} returns {@link #COMPLETE} when it is done. In {@link
 * Mode#NONBLOCKING} it is started and answers a request, to be given to {@link #await} exactly
 * once, or {@link #COMPLETE} if there is nothing left to wait for. Messages are called in both
 * modes. Collectives are called in {@link Mode#NONBLOCKING} only where {@link
 * Capabilities#nonBlockingCollectives()} says so; where not, the engine runs them in order on its
 * worker or on the waiting thread.
 *
 * <p>No two collectives of one communicator run at once, while {@link #send}, {@link #recv}, {@link
 * #await}, {@link #test} and {@link #abort} may run beside one.
 */
public non-sealed interface HostCommunicator extends Communicator {

    /** What an operation answers that is done. */
    long COMPLETE = 0;

    /** When an operation returns. */
    enum Mode {
        /** When it is complete, as {@code MPI_Allreduce}. */
        BLOCKING,

        /** At once, as {@code MPI_Iallreduce}; the answer is a request. */
        NONBLOCKING
    }

    /**
     * Copies root's elements to all.
     *
     * @param address in and out
     * @param count elements
     * @param type element type
     * @param root rank
     * @param mode when to return
     * @return {@link #COMPLETE} or a request
     */
    long broadcast(long address, long count, DataType type, int root, Mode mode);

    /**
     * Reduces to all ranks.
     *
     * @param input elements of this rank
     * @param output result; may equal {@code input}
     * @param count elements
     * @param type element type
     * @param op operation
     * @param mode when to return
     * @return {@link #COMPLETE} or a request
     */
    long allReduce(long input, long output, long count, DataType type, ReduceOp op, Mode mode);

    /**
     * Reduces to the root.
     *
     * @param input elements of this rank, unchanged on other ranks than root
     * @param output result on the root, may equal {@code input}; not read elsewhere
     * @param count elements
     * @param type element type
     * @param op operation
     * @param root rank
     * @param mode when to return
     * @return {@link #COMPLETE} or a request
     */
    long reduce(
            long input, long output, long count, DataType type, ReduceOp op, int root, Mode mode);

    /**
     * Concatenates the ranks' elements on all ranks.
     *
     * @param input elements of this rank; may be its own place inside {@code output}
     * @param output {@code count} times size elements
     * @param count elements a rank
     * @param type element type
     * @param mode when to return
     * @return {@link #COMPLETE} or a request
     */
    long allGather(long input, long output, long count, DataType type, Mode mode);

    /**
     * Concatenates different numbers of elements on all ranks.
     *
     * @param input elements of this rank; may be its own place inside {@code output}
     * @param output sum of {@code counts} elements
     * @param counts elements of each rank
     * @param type element type
     * @param mode when to return
     * @return {@link #COMPLETE} or a request
     */
    long allGatherV(long input, long output, long[] counts, DataType type, Mode mode);

    /**
     * Concatenates the ranks' elements on the root.
     *
     * @param input elements of this rank
     * @param output on the root {@code count} times size elements; 0 elsewhere
     * @param count elements a rank
     * @param type element type
     * @param root rank
     * @param mode when to return
     * @return {@link #COMPLETE} or a request
     */
    long gather(long input, long output, long count, DataType type, int root, Mode mode);

    /**
     * Deals the root's elements out to the ranks.
     *
     * @param input on the root {@code count} times size elements; 0 elsewhere
     * @param output elements of this rank
     * @param count elements a rank
     * @param type element type
     * @param root rank
     * @param mode when to return
     * @return {@link #COMPLETE} or a request
     */
    long scatter(long input, long output, long count, DataType type, int root, Mode mode);

    /**
     * Reduces, and leaves each rank its part of the result.
     *
     * @param input {@code count} times size elements; not changed
     * @param output {@code count} elements; not inside {@code input}
     * @param count elements a rank
     * @param type element type
     * @param op operation
     * @param mode when to return
     * @return {@link #COMPLETE} or a request
     */
    long reduceScatter(long input, long output, long count, DataType type, ReduceOp op, Mode mode);

    /**
     * Reduces, and leaves each rank its part of the result, parts of different sizes.
     *
     * @param input sum of {@code counts} elements; not changed
     * @param output as many elements as this rank's count
     * @param counts elements of each rank's part
     * @param type element type
     * @param op operation
     * @param mode when to return
     * @return {@link #COMPLETE} or a request
     */
    long reduceScatterV(
            long input, long output, long[] counts, DataType type, ReduceOp op, Mode mode);

    /**
     * Sends part j of rank i's input to part i of rank j's output.
     *
     * @param input {@code count} times size elements
     * @param output {@code count} times size elements, not the same memory
     * @param count elements a part
     * @param type element type
     * @param mode when to return
     * @return {@link #COMPLETE} or a request
     */
    long allToAll(long input, long output, long count, DataType type, Mode mode);

    /**
     * All to all with parts of different sizes.
     *
     * @param input sum of {@code inputCounts} elements
     * @param output sum of {@code outputCounts} elements, not the same memory
     * @param inputCounts elements for each rank
     * @param outputCounts elements from each rank
     * @param type element type
     * @param mode when to return
     * @return {@link #COMPLETE} or a request
     */
    long allToAllV(
            long input,
            long output,
            long[] inputCounts,
            long[] outputCounts,
            DataType type,
            Mode mode);

    /**
     * Sends to a peer.
     *
     * @param address elements
     * @param count number of elements
     * @param type element type
     * @param peer rank, never this one
     * @param tag not negative
     * @param mode when to return
     * @return {@link #COMPLETE} or a request
     */
    long send(long address, long count, DataType type, int peer, int tag, Mode mode);

    /**
     * Receives from a peer. With {@link Mode#NONBLOCKING} it always returns a request: {@link
     * #await} tells who sent.
     *
     * @param address where to
     * @param count number of elements
     * @param type element type
     * @param peer rank, never this one, or {@link #ANY_SOURCE}
     * @param tag not negative
     * @param mode when to return
     * @return {@link #COMPLETE} or a request
     */
    long recv(long address, long count, DataType type, int peer, int tag, Mode mode);

    /**
     * Returns when all ranks have called it.
     *
     * @param mode when to return
     * @return {@link #COMPLETE} or a request
     */
    long barrier(Mode mode);

    /**
     * Whether a request is complete. Afterwards {@link #await} must still be called.
     *
     * @param request from an operation
     * @return true when {@link #await} would return at once
     */
    boolean test(long request);

    /**
     * Blocks until a request is complete and frees it.
     *
     * @param request from an operation
     * @return rank of the sender for a receive, else -1
     */
    int await(long request);
}
