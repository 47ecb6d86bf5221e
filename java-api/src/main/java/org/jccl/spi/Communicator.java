package org.jccl.spi;

import org.jccl.DataType;
import org.jccl.ReduceOp;

/**
 * One rank's end of a group, in a vendor library. The engines have checked every argument, hold the
 * memory alive and serialise the calls: no two collectives of one communicator run at once, while
 * {@link #send}, {@link #recv}, {@link #await}, {@link #test} and {@link #abort} may run beside
 * one.
 *
 * <p>Addresses are of contiguous memory on the communicator's device. Counts are elements, not
 * bytes. {@code input} and {@code output} may be the same address where an operation says so.
 *
 * <p>{@code stream} is the native stream to enqueue on; host communicators get {@link #BLOCKING} or
 * {@link #NONBLOCKING} there. An operation returns 0 when it is complete (host) or enqueued
 * (device), or else a request, to be given to {@link #await} exactly once.
 *
 * <p>Every operation throws an {@link org.jccl.JcclException} that carries the vendor's text; the
 * engine adds group, rank and operation. A communicator that threw is not used again, except for
 * {@link #abort} and {@link #close}; but after a {@link RefusedOperationException}, it goes on.
 *
 * <p>Questions about what the library knows ({@link #startsCollectives}, {@link #largestTag},
 * {@link #receivesFromAnySource}, {@link #reducesListsApart}, {@link #reduces}, {@link
 * #requireMessages}, {@link #requireUnevenAllToAll}, {@link #requireUnevenGather}, {@link #splits})
 * are answered without the native communicator, at any time, also after {@link #close}. Everything
 * else is called before it only.
 */
public interface Communicator extends AutoCloseable {

    /** Host communicators: return when the operation is complete. */
    long BLOCKING = 0;

    /** Host communicators: start the operation and return a request. */
    long NONBLOCKING = 1;

    /**
     * Whether collectives can be started with {@link #NONBLOCKING}. When they can not, the host
     * engine runs them in order on its worker or on the waiting thread.
     *
     * @return true when collectives return requests
     */
    default boolean startsCollectives() {
        return false;
    }

    /**
     * The largest tag of messages; a receive takes only messages with its tag. Larger ones are
     * refused before {@link #send} or {@link #recv} is called.
     *
     * @return 0 where messages carry no tags
     */
    default int largestTag() {
        return Integer.MAX_VALUE;
    }

    /**
     * Whether {@link #recv} takes {@link #ANY_SOURCE}; refused before it is called where not.
     *
     * @return true when a receive can take from whoever sends first
     */
    default boolean receivesFromAnySource() {
        return true;
    }

    /**
     * Whether a {@code reduceScatter} of a list of parts is another operation, to the ranks on the
     * other side, than one of a tensor that holds them all. When it is, lists always come to {@link
     * #reduceScatterV}.
     *
     * @return true when lists of equal parts must not come to {@link #reduceScatter}
     */
    default boolean reducesListsApart() {
        return false;
    }

    /**
     * Whether this library reduces a type with an operation; asked before any reduction.
     *
     * @param op the operation
     * @param type an element type that it supports
     * @return true when reductions may be called with them
     */
    boolean reduces(ReduceOp op, DataType type);

    /**
     * Asked before each message is numbered.
     *
     * @throws org.jccl.UsageException when the library has no messages
     */
    default void requireMessages() {}

    /**
     * Asked before each {@link #allToAllV} is numbered.
     *
     * @throws org.jccl.UsageException when the library exchanges equal parts only
     */
    default void requireUnevenAllToAll() {}

    /**
     * Asked before each {@link #allGatherV} is numbered.
     *
     * @throws org.jccl.UsageException when the library gathers equal parts only
     */
    default void requireUnevenGather() {}

    /**
     * Copies root's elements to all.
     *
     * @param address in and out
     * @param count elements
     * @param type element type
     * @param root rank
     * @param stream see the class
     * @return 0 or a request
     */
    long broadcast(long address, long count, DataType type, int root, long stream);

    /**
     * Reduces to all ranks.
     *
     * @param input elements of this rank
     * @param output result; may equal {@code input}
     * @param count elements
     * @param type element type
     * @param op operation
     * @param stream see the class
     * @return 0 or a request
     */
    long allReduce(long input, long output, long count, DataType type, ReduceOp op, long stream);

    /**
     * Reduces to the root.
     *
     * @param input elements of this rank, unchanged on other ranks than root
     * @param output result on the root, may equal {@code input}; not read elsewhere
     * @param count elements
     * @param type element type
     * @param op operation
     * @param root rank
     * @param stream see the class
     * @return 0 or a request
     */
    long reduce(
            long input, long output, long count, DataType type, ReduceOp op, int root, long stream);

    /**
     * Concatenates the ranks' elements on all ranks.
     *
     * @param input elements of this rank; may be its own place inside {@code output}
     * @param output {@code count} times size elements
     * @param count elements a rank
     * @param type element type
     * @param stream see the class
     * @return 0 or a request
     */
    long allGather(long input, long output, long count, DataType type, long stream);

    /**
     * Concatenates different numbers of elements on all ranks.
     *
     * @param input elements of this rank; may be its own place inside {@code output}
     * @param output sum of {@code counts} elements
     * @param counts elements of each rank
     * @param type element type
     * @param stream see the class
     * @return 0 or a request
     */
    long allGatherV(long input, long output, long[] counts, DataType type, long stream);

    /**
     * Concatenates the ranks' elements on the root.
     *
     * @param input elements of this rank
     * @param output on the root {@code count} times size elements; 0 elsewhere
     * @param count elements a rank
     * @param type element type
     * @param root rank
     * @param stream see the class
     * @return 0 or a request
     */
    long gather(long input, long output, long count, DataType type, int root, long stream);

    /**
     * Deals the root's elements out to the ranks.
     *
     * @param input on the root {@code count} times size elements; 0 elsewhere
     * @param output elements of this rank
     * @param count elements a rank
     * @param type element type
     * @param root rank
     * @param stream see the class
     * @return 0 or a request
     */
    long scatter(long input, long output, long count, DataType type, int root, long stream);

    /**
     * Reduces, and leaves each rank its part of the result.
     *
     * @param input {@code count} times size elements; not changed
     * @param output {@code count} elements; not inside {@code input}
     * @param count elements a rank
     * @param type element type
     * @param op operation
     * @param stream see the class
     * @return 0 or a request
     */
    long reduceScatter(
            long input, long output, long count, DataType type, ReduceOp op, long stream);

    /**
     * Reduces, and leaves each rank its part of the result, parts of different sizes.
     *
     * @param input sum of {@code counts} elements; not changed
     * @param output as many elements as this rank's count
     * @param counts elements of each rank's part
     * @param type element type
     * @param op operation
     * @param stream see the class
     * @return 0 or a request
     */
    long reduceScatterV(
            long input, long output, long[] counts, DataType type, ReduceOp op, long stream);

    /**
     * Sends part j of rank i's input to part i of rank j's output.
     *
     * @param input {@code count} times size elements
     * @param output {@code count} times size elements, not the same memory
     * @param count elements a part
     * @param type element type
     * @param stream see the class
     * @return 0 or a request
     */
    long allToAll(long input, long output, long count, DataType type, long stream);

    /**
     * All to all with parts of different sizes.
     *
     * @param input sum of {@code inputCounts} elements
     * @param output sum of {@code outputCounts} elements, not the same memory
     * @param inputCounts elements for each rank
     * @param outputCounts elements from each rank
     * @param type element type
     * @param stream see the class
     * @return 0 or a request
     */
    long allToAllV(
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
     * @param stream see the class
     * @return 0 or a request
     */
    long send(long address, long count, DataType type, int peer, int tag, long stream);

    /**
     * Receives from a peer. Called with {@link #NONBLOCKING}, host communicators always return a
     * request: {@link #await} tells who sent.
     *
     * @param address where to
     * @param count number of elements
     * @param type element type
     * @param peer rank, never this one, or {@link #ANY_SOURCE}
     * @param tag not negative
     * @param stream see the class
     * @return 0 or a request
     */
    long recv(long address, long count, DataType type, int peer, int tag, long stream);

    /** Peer of {@link #recv}: whoever sends first. */
    int ANY_SOURCE = -1;

    /**
     * Returns when all ranks have called it.
     *
     * @param stream see the class
     * @return 0 or a request
     */
    long barrier(long stream);

    /**
     * Whether a request is complete. Afterwards {@link #await} must still be called. Device
     * communicators answer no requests.
     *
     * @param request from an operation
     * @return true when {@link #await} would return at once
     */
    default boolean test(long request) {
        return true;
    }

    /**
     * Blocks until a request is complete and frees it.
     *
     * @param request from an operation
     * @return rank of the sender for a receive, else -1
     */
    default int await(long request) {
        return -1;
    }

    /**
     * Whether the library makes communicators out of this one. Where it does not, a group that
     * comes from a split is made as any other.
     *
     * @return true when {@link #split} and {@link #declineSplit} may be called
     */
    default boolean splits() {
        return false;
    }

    /**
     * Divides the ranks of this communicator. Called on all of them at about the same time, here or
     * as {@link #declineSplit}, while nothing is outstanding on it.
     *
     * @param color equal on the ranks of one new communicator, not negative
     * @param config of the new communicator, whose parent is this one
     * @return the new communicator, with the rank and size of the configuration
     */
    default Communicator split(int color, CommunicatorConfig config) {
        throw new UnsupportedOperationException("this library does not split communicators");
    }

    /** Takes part in a split without being in any of the new communicators. */
    default void declineSplit() {
        throw new UnsupportedOperationException("this library does not split communicators");
    }

    /** Opens a batch: what is issued until {@link #batchEnd} starts together. */
    default void batchStart() {}

    /** Closes a batch. */
    default void batchEnd() {}

    /**
     * The failure the library noticed by itself, without a call.
     *
     * @return null when there is none
     */
    default org.jccl.JcclException asynchronousError() {
        return null;
    }

    /**
     * Whether the library may still use the memory of operations that failed, because it could not
     * take them back. Asked after each failure; the engine then keeps that memory until the process
     * ends.
     *
     * @return true once an operation was given up that may still run
     */
    default boolean abandonsOperations() {
        return false;
    }

    /**
     * Makes calls that are inside this communicator, and later ones, throw {@link
     * org.jccl.GroupAbortedException} soon. Safe from any thread at any time; does not wait.
     */
    void abort();

    /** Frees the communicator. The engine calls it when no thread is inside. Idempotent. */
    @Override
    void close();
}
