package org.jccl.spi;

import java.util.Optional;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.FailureContext;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.UsageException;

/**
 * One rank's part of a group in a vendor library: a {@link HostCommunicator} or a {@link
 * StreamCommunicator}. The engine has checked every argument, retains the memory and serialises the
 * calls.
 *
 * <p>Addresses point to contiguous memory on the device of the communicator. Counts are elements,
 * not bytes. {@code input} and {@code output} may be the same address only if the operation says
 * so.
 *
 * <p>Operations throw an {@link org.jccl.JcclException} with the vendor's text; the engine adds
 * group, rank and operation. After an exception, only {@link #abort} and {@link #close} are called.
 * After a {@link RefusedOperationException}, the communicator stays in use.
 *
 * <p>{@link #capabilities} and {@link #reduces} work without the native communicator, at any time,
 * also after {@link #close}. All other methods are called before {@link #close} only.
 */
public sealed interface Communicator extends AutoCloseable
        permits HostCommunicator, StreamCommunicator {

    /** The peer of a receive that takes a message from any rank. */
    int ANY_SOURCE = -1;

    /**
     * Returns what the library can do. It is called often.
     *
     * @return the same object each time
     */
    Capabilities capabilities();

    /**
     * Returns whether the library reduces a type with an operation. The engine calls it before any
     * reduction.
     *
     * @param op the operation
     * @param type an element type for which the operation is defined
     * @return true if reductions may be called with them
     */
    boolean reduces(ReduceOp op, DataType type);

    /**
     * Divides the ranks of this communicator. All ranks of it call this method or {@link
     * #declineSplit} at about the same time, while no operation is in flight, and only if the
     * library has {@link Capabilities.Feature#SPLIT}.
     *
     * @param color equal on the ranks of one new communicator, not negative
     * @param config the new communicator; its parent is this one
     * @return the new communicator, with the rank and size of the configuration
     */
    default Communicator split(int color, CommunicatorConfig config) {
        throw new UnsupportedOperationException("this library does not split communicators");
    }

    /** Takes part in a split without being a member of a new communicator. */
    default void declineSplit() {
        throw new UnsupportedOperationException("this library does not split communicators");
    }

    /**
     * Registers memory, so that operations can use it without a copy. The memory is allocated until
     * the call returns, and may be freed at any time after that.
     *
     * @param address the first byte
     * @param bytes the size
     * @throws UsageException if the library does not register memory, or does not accept this
     *     memory
     */
    default void register(long address, long bytes) {
        throw new UsageException(
                FailureContext.NONE,
                "register: the library of this backend does not register memory; use the tensor"
                        + " without registering it");
    }

    /**
     * Allocates memory that is registered with this communicator, if its options request that.
     *
     * @param device the device of this communicator
     * @param type element type
     * @param count number of elements
     * @return the tensor; empty if memory from {@link Tensor#allocate} serves as well
     */
    default Optional<Tensor> allocate(Device device, DataType type, long count) {
        return Optional.empty();
    }

    /**
     * Returns a failure that the library noticed outside any call. The engine calls it every 100 ms
     * until it closes the communicator, even when no operation runs. A library that moves data only
     * during calls can do so here.
     *
     * @return null if there is none
     */
    default org.jccl.JcclException asynchronousError() {
        return null;
    }

    /**
     * Returns whether the connection to a peer has ended. The engine calls it during long
     * operations, because a rank that waits for a third one may not notice the loss. May be called
     * during operations.
     *
     * @param peer a rank, never this one
     * @return false if the library does not know
     */
    default boolean hasLost(int peer) {
        return false;
    }

    /**
     * Returns whether the library may still use the memory of failed operations, because it could
     * not cancel them. The engine calls it after each failure. If true, it retains that memory
     * until the process ends.
     *
     * @return true once an operation was abandoned that may still run
     */
    default boolean abandonsOperations() {
        return false;
    }

    /**
     * Makes calls that are inside this communicator, and later calls, throw {@link
     * org.jccl.GroupAbortedException} soon. May be called from any thread at any time. Does not
     * block.
     */
    void abort();

    /**
     * Waits for a limited time until {@link #abort} has completed. Called before another group
     * replaces this one: a library may free memory only when the device is idle, and would
     * otherwise wait for operations of the other group.
     */
    default void awaitAbort() {}

    /** Frees the communicator. The engine calls it when no thread is inside. Idempotent. */
    @Override
    void close();
}
