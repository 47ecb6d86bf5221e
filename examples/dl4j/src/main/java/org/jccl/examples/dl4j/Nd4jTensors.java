package org.jccl.examples.dl4j;

import java.util.Arrays;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.Tensor;
import org.nd4j.linalg.api.ndarray.INDArray;

/** Arrays of ND4J on the CPU as tensors. */
public final class Nd4jTensors {

    private Nd4jTensors() {}

    /**
     * Wraps the memory of an array without a copy. The elements have the order of {@code
     * array.ordering()}.
     *
     * @param array a contiguous array on the CPU; it must not be closed while the tensor is in use
     * @return a tensor that keeps the array reachable
     * @throws IllegalArgumentException if the array is not contiguous, or has a type that groups do
     *     not support
     */
    public static Tensor of(INDArray array) {
        DataType type =
                switch (array.dataType()) {
                    case FLOAT -> DataType.FLOAT32;
                    case DOUBLE -> DataType.FLOAT64;
                    case HALF -> DataType.FLOAT16;
                    case INT -> DataType.INT32;
                    case LONG -> DataType.INT64;
                    default ->
                            throw new IllegalArgumentException(
                                    "no group takes arrays of " + array.dataType());
                };
        if (array.elementWiseStride() != 1) {
            throw new IllegalArgumentException(
                    "the elements of an array of shape "
                            + Arrays.toString(array.shape())
                            + " do not lie in one piece; take array.dup()");
        }
        long address = array.data().address() + array.offset() * type.size();
        return Tensor.of(address, array.length(), type, Device.CPU, array);
    }
}
