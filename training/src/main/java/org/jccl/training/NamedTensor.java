package org.jccl.training;

import java.util.List;
import org.jccl.FailureContext;
import org.jccl.Tensor;
import org.jccl.UsageException;

/**
 * A tensor with a name and a shape, as stored in files.
 *
 * @param name the name, not empty
 * @param shape the sizes, the last one innermost; empty for a scalar
 * @param tensor the elements
 */
public record NamedTensor(String name, List<Long> shape, Tensor tensor) {

    /**
     * Creates a named tensor.
     *
     * @param name the name, not empty
     * @param shape the sizes; copied
     * @param tensor the elements
     * @throws UsageException if an argument is null or empty, the format reserves the name, or the
     *     shape and the tensor have different numbers of elements
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
     * Creates a named tensor.
     *
     * @param name the name, not empty
     * @param tensor the elements
     * @param shape the sizes, the last one innermost
     * @return the named tensor
     * @throws UsageException as the constructor does
     */
    public static NamedTensor of(String name, Tensor tensor, long... shape) {
        return new NamedTensor(name, Shapes.list(shape), tensor);
    }
}
