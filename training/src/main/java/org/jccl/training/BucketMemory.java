package org.jccl.training;

import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.Tensor;

/**
 * Allocator for the buckets of a {@link GradientReducer}, for frameworks whose gradients must be in
 * the framework's own memory.
 */
@FunctionalInterface
public interface BucketMemory {

    /**
     * Allocates the memory of one bucket. The reducer owns the tensor and closes it.
     *
     * @param device the device of the bucket
     * @param type the type of the elements
     * @param count the number of elements. The gradients start at the first element; on the CPU one
     *     more element follows them
     * @return a tensor of that device, type and count that nothing else uses
     */
    Tensor allocate(Device device, DataType type, long count);
}
