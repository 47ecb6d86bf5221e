package org.jccl.conformance;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import org.jccl.DataType;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Store;
import org.jccl.Tensor;

/** A backend as the conformance suite sees it: how ranks join and where their tensors live. */
public interface ConformanceBackend {

    /**
     * A backend that is found as a user finds it, with host tensors and default options.
     *
     * @param name name of the backend
     * @return the backend
     */
    static ConformanceBackend named(String name) {
        return (store, rank, size, timeout) ->
                ProcessGroup.builder()
                        .backend(name)
                        .store(store)
                        .rank(rank)
                        .worldSize(size)
                        .joinTimeout(Ranks.TIMEOUT)
                        .timeout(timeout)
                        .build();
    }

    /**
     * Joins a world as one rank; called by all ranks at the same time.
     *
     * @param store shared by the ranks of this world only
     * @param rank this rank
     * @param size number of ranks
     * @param timeout deadline of each operation; joining has {@link Ranks#TIMEOUT}
     * @return the group
     */
    ProcessGroup join(Store store, int rank, int size, Duration timeout);

    /**
     * How several ranks come about.
     *
     * @return threads of this process, unless a backend says otherwise
     */
    default Ranks ranks() {
        return new ThreadRanks(this);
    }

    /**
     * Whether this backend can do what some libraries cannot.
     *
     * @param capability asked for
     * @return by default, true
     */
    default boolean has(Capability capability) {
        return true;
    }

    /**
     * The type of the devices that hold this backend's tensors.
     *
     * @return by default, that of host memory
     */
    default String deviceType() {
        return "cpu";
    }

    /**
     * Whether this backend must reduce a type with an operation.
     *
     * @param op the operation
     * @param type the element type
     * @return by default, all that is defined, 8-bit floats excepted
     */
    default boolean reduces(ReduceOp op, DataType type) {
        return op.supports(type) && !type.isFloat8();
    }

    /**
     * Whether this backend must refuse to reduce a type with an operation.
     *
     * @param op the operation
     * @param type the element type
     * @return by default, all that it need not reduce
     */
    default boolean refuses(ReduceOp op, DataType type) {
        return !reduces(op, type);
    }

    /**
     * Makes a tensor on this backend's device.
     *
     * @param type element type
     * @param count number of elements
     * @return a tensor of any content
     */
    default Tensor allocate(DataType type, int count) {
        ByteBuffer buffer =
                ByteBuffer.allocateDirect(count * type.size()).order(ByteOrder.nativeOrder());
        return Tensor.of(buffer, type);
    }

    /**
     * Overwrites a tensor's elements.
     *
     * @param tensor on this backend's device
     * @param elements as many bytes as it has
     */
    default void write(Tensor tensor, byte[] elements) {
        Elements.bytes(tensor).copyFrom(elements);
    }

    /**
     * Reads a tensor's elements.
     *
     * @param tensor on this backend's device
     * @return their bytes
     */
    default byte[] read(Tensor tensor) {
        return Elements.bytes(tensor).copyTo(new byte[Math.toIntExact(tensor.byteSize())]);
    }
}
