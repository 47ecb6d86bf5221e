package org.jccl.training;

import java.util.List;
import org.jccl.FailureContext;
import org.jccl.Tensor;
import org.jccl.UsageException;

/**
 * A tensor as files have it, with a name and a shape.
 *
 * @param name not empty
 * @param shape sizes, the last one innermost; empty for one number
 * @param tensor its elements
 */
public record NamedTensor(String name, List<Long> shape, Tensor tensor) {

    /**
     * Checks the arguments.
     *
     * @param name not empty
     * @param shape sizes; copied
     * @param tensor its elements
     * @throws UsageException when something is null or empty, the name is one that the format keeps
     *     for itself, or the shape does not have as many elements as the tensor
     */
    public NamedTensor {
        shape = Shapes.checked(name, shape);
        if (tensor == null) {
            throw new UsageException(FailureContext.NONE, "tensor '" + name + "' is null");
        }
        if (SafetensorsHeader.count(shape) != tensor.count()) {
            throw new UsageException(
                    FailureContext.NONE,
                    "tensor '" + name + "' is " + tensor + ", which is not of shape " + shape);
        }
    }

    /**
     * A tensor with its shape.
     *
     * @param name not empty
     * @param tensor its elements
     * @param shape sizes, the last one innermost
     * @return the same in one
     * @throws UsageException as the constructor
     */
    public static NamedTensor of(String name, Tensor tensor, long... shape) {
        return new NamedTensor(name, Shapes.list(shape), tensor);
    }
}
