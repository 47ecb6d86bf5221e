package org.jccl.spi;

import org.jccl.DataType;
import org.jccl.ReduceOp;

/**
 * One rank's end of a group, in a vendor library: either a {@link HostCommunicator} or a {@link
 * StreamCommunicator}. The engines have checked every argument, hold the memory alive and serialise
 * the calls.
 *
 * <p>Addresses are of contiguous memory on the communicator's device. Counts are elements, not
 * bytes. {@code input} and {@code output} may be the same address where an operation says so.
 *
 * <p>Every operation throws an {@link org.jccl.JcclException} that carries the vendor's text; the
 * engine adds group, rank and operation. A communicator that threw is not used again, except for
 * {@link #abort} and {@link #close}; but after a {@link RefusedOperationException}, it goes on.
 *
 * <p>{@link #capabilities} and {@link #reduces} are answered without the native communicator, at
 * any time, also after {@link #close}. Everything else is called before it only.
 */
public sealed interface Communicator extends AutoCloseable
        permits HostCommunicator, StreamCommunicator {

    /** Peer of a receive: whoever sends first. */
    int ANY_SOURCE = -1;

    /**
     * What the library can do. Asked often, and always answered alike.
     *
     * @return the same object each time
     */
    Capabilities capabilities();

    /**
     * Whether this library reduces a type with an operation; asked before any reduction.
     *
     * @param op the operation
     * @param type an element type that it supports
     * @return true when reductions may be called with them
     */
    boolean reduces(ReduceOp op, DataType type);

    /**
     * Divides the ranks of this communicator. Called on all of them at about the same time, here or
     * as {@link #declineSplit}, while nothing is outstanding on it, and only where {@link
     * Capabilities#splits()} says so.
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
