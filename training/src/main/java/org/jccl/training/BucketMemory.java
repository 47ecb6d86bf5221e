package org.jccl.training;

import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.Tensor;

/**
 * Where the buckets of a {@link GradientReducer} get their memory, for frameworks whose gradients
 * can only lie in memory of the framework's own.
 */
@FunctionalInterface
public interface BucketMemory {

    /**
     * Gives memory for one bucket. The reducer closes the tensor when it needs it no more.
     *
     * @param device where
     * @param type of the elements
     * @param count number of elements: those of the gradients, which begin at the first one, and on
     *     the CPU one more
     * @return a tensor of that device, type and count, which nothing else uses
     */
    Tensor allocate(Device device, DataType type, long count);
}
