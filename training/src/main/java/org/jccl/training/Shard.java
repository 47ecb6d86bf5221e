package org.jccl.training;

import java.util.List;
import org.jccl.FailureContext;
import org.jccl.Tensor;
import org.jccl.UsageException;

/**
 * One rank's part of a distributed tensor: a range of elements of the flat tensor in row-major
 * order.
 *
 * @param name the name of the tensor, the same on all ranks
 * @param shape the shape of the whole tensor, the last size innermost
 * @param offset the first element of the part
 * @param tensor the part's elements
 * @param replicated whether all ranks have the whole tensor with the same elements, bit for bit. A
 *     save compares them, and one rank writes the tensor. Ignored by a load
 */
public record Shard(String name, List<Long> shape, long offset, Tensor tensor, boolean replicated) {

    /**
     * Creates a shard.
     *
     * @param name the name of the tensor
     * @param shape the shape of the whole tensor; copied
     * @param offset the first element of the part
     * @param tensor the part's elements
     * @param replicated whether all ranks have the whole tensor
     * @throws UsageException if an argument is null or empty, the part is not inside the shape, or
     *     a replicated shard is not the whole tensor
     */
    public Shard {
        shape = Shapes.checked(name, shape);
        if (tensor == null) {
            throw new UsageException(FailureContext.NONE, "tensor '" + name + "' is null");
        }
        long count = SafetensorsHeader.count(shape);
        if (offset < 0
                || offset > count - tensor.count()
                || replicated && tensor.count() != count) {
            throw new UsageException(
                    FailureContext.NONE,
                    tensor
                            + " at element "
                            + offset
                            + " is not a part of '"
                            + name
                            + "' of shape "
                            + shape
                            + (replicated ? ", or not all of it" : ""));
        }
    }

    /**
     * Creates a shard for a tensor that all ranks have with the same elements, bit for bit. {@link
     * Checkpoint#save} fails if they differ.
     *
     * @param name the name of the tensor
     * @param tensor the whole tensor
     * @param shape its sizes
     * @return a shard that only one rank writes
     * @throws UsageException as the constructor does
     */
    public static Shard replicated(String name, Tensor tensor, long... shape) {
        return new Shard(name, Shapes.list(shape), 0, tensor, true);
    }

    /**
     * Creates a shard for a part that only this rank has.
     *
     * @param name the name of the tensor
     * @param offset the first element of the part
     * @param tensor the part's elements
     * @param shape the sizes of the whole tensor
     * @return a shard that this rank writes
     * @throws UsageException as the constructor does
     */
    public static Shard part(String name, long offset, Tensor tensor, long... shape) {
        return new Shard(name, Shapes.list(shape), offset, tensor, false);
    }
}
