package org.jccl.djl;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.index.NDIndex;
import java.nio.ByteBuffer;
import java.util.Optional;
import java.util.function.Supplier;
import org.jccl.DataType;
import org.jccl.FailureContext;
import org.jccl.Tensor;
import org.jccl.UsageException;

/**
 * The elements of a DJL array as a tensor: in the array's own memory if they are contiguous there,
 * or else in a copy that is {@linkplain #writeBack written back}. DJL does not report which of the
 * two it returns, so this class asks twice: two copies have different addresses.
 */
final class ArrayMemory {

    private static final NDIndex ALL = new NDIndex("...");

    private final NDArray array;
    private final ByteBuffer copy;
    private final Tensor tensor;

    private ArrayMemory(NDArray array, Tensor tensor, ByteBuffer copy) {
        this.array = array;
        this.tensor = tensor;
        this.copy = copy;
    }

    /**
     * The elements of a parameter.
     *
     * @param scope the tensor can be used until the scope is closed
     * @param where for messages, like the name
     */
    static ArrayMemory of(NDManager scope, FailureContext where, String name, NDArray array) {
        Supplier<NDArray> alias = () -> attached(scope, array.stopGradient());
        return of(where, name, alias.get(), alias.get());
    }

    /** Empty if no backward pass has made a gradient, for which DJL returns new zeros. */
    static Optional<ArrayMemory> ofGradient(
            NDManager scope, FailureContext where, String name, NDArray parameter) {
        Supplier<NDArray> alias = () -> attached(scope, parameter.getGradient());
        NDArray one = alias.get();
        NDArray other = alias.get();
        ArrayMemory memory = of(where, "the gradient of " + name, one, other);
        boolean there = memory.copy == null || isSameArray(one, other);
        return there ? Optional.of(memory) : Optional.empty();
    }

    /** Whether two arrays share memory. The elements are unchanged afterwards, bit by bit. */
    private static boolean isSameArray(NDArray one, NDArray other) {
        try (NDArray zero = one.eq(0);
                NDArray all = zero.all()) {
            if (!all.getBoolean()) {
                return true;
            }
        }
        one.addi(1);
        try (NDArray sum = other.sum()) {
            return sum.toType(ai.djl.ndarray.types.DataType.FLOAT32, false).getFloat() != 0;
        } finally {
            one.subi(1);
        }
    }

    private static NDArray attached(NDManager scope, NDArray array) {
        array.attach(scope);
        return array;
    }

    private static ArrayMemory of(FailureContext where, String name, NDArray array, NDArray same) {
        DataType type = type(where, name, array);
        if (array.getDevice().isGpu()) {
            throw new UsageException(
                    where,
                    name
                            + " is on "
                            + array.getDevice()
                            + ", and DJL does not give the address of memory there; "
                            + CPU_ONLY);
        }
        if (array.isSparse()) {
            throw new UsageException(where, name + " is sparse; only dense arrays can be reduced");
        }
        long bytes = array.size() * type.size();
        if (bytes > Integer.MAX_VALUE) {
            throw new UsageException(
                    where,
                    name + " has " + bytes + " bytes, and DJL gives the address of at most 2 GiB");
        }
        ByteBuffer elements = array.toByteBuffer(true);
        Tensor tensor = Tensor.of(elements, type);
        boolean copied = tensor.address() != Tensor.of(same.toByteBuffer(true), type).address();
        return new ArrayMemory(array, tensor, copied ? elements : null);
    }

    /** The advice for arrays on other devices. */
    static final String CPU_ONLY =
            "train with Model.newInstance(name, Device.cpu()) and optDevices(new Device[]"
                    + " {Device.cpu()}), or with a framework whose adapter reaches the memory of"
                    + " that device";

    /** The element type for groups. DJL cannot make bfloat16 with PyTorch. */
    static DataType type(FailureContext where, String name, NDArray array) {
        return switch (array.getDataType()) {
            case FLOAT32 -> DataType.FLOAT32;
            case FLOAT64 -> DataType.FLOAT64;
            case FLOAT16 -> DataType.FLOAT16;
            case INT8 -> DataType.INT8;
            case UINT8 -> DataType.UINT8;
            case INT32 -> DataType.INT32;
            case INT64 -> DataType.INT64;
            case BOOLEAN -> DataType.BOOL;
            default ->
                    throw new UsageException(
                            where,
                            name + " is of " + array.getDataType() + ", which no group supports");
        };
    }

    Tensor tensor() {
        return tensor;
    }

    /** Copies the tensor into the array, unless they share memory. */
    void writeBack() {
        if (copy != null) {
            try (NDArray values =
                    array.getManager().create(copy, array.getShape(), array.getDataType())) {
                // copyTo would replace the memory of the array, and not change what shares it.
                array.set(ALL, values);
            }
        }
    }
}
