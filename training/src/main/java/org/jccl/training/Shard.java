package org.jccl.training;

import java.util.List;
import org.jccl.FailureContext;
import org.jccl.Tensor;
import org.jccl.UsageException;

/**
 * What one rank has of a tensor that the ranks hold together: elements that follow each other when
 * the tensor is taken as flat, in row-major order.
 *
 * @param name of the tensor, the same on all ranks
 * @param shape of the whole tensor, the last size innermost
 * @param offset first element of the part
 * @param tensor the part's elements
 * @param replicated whether all ranks have the whole tensor with the same elements, bit for bit, so
 *     that one of them is to write it; a save compares them. Only matters where it is saved
 */
public record Shard(String name, List<Long> shape, long offset, Tensor tensor, boolean replicated) {

    /**
     * Checks the arguments.
     *
     * @param name of the tensor
     * @param shape of the whole tensor; copied
     * @param offset first element of the part
     * @param tensor the part's elements
     * @param replicated whether all ranks have the whole tensor
     * @throws UsageException when something is null or empty, the part is not inside the shape, or
     *     a replicated one is not all of it
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
                            + " is no part of '"
                            + name
                            + "' of shape "
                            + shape
                            + (replicated ? ", or not all of it" : ""));
        }
    }

    /**
     * A tensor that all ranks have, with the same elements, bit for bit. {@link Checkpoint#save}
     * fails if they differ.
     *
     * @param name of the tensor
     * @param tensor all of it
     * @param shape its sizes
     * @return a shard of which one rank writes all
     * @throws UsageException as the constructor
     */
    public static Shard replicated(String name, Tensor tensor, long... shape) {
        return new Shard(name, Shapes.list(shape), 0, tensor, true);
    }

    /**
     * A part that only this rank has.
     *
     * @param name of the tensor
     * @param offset first element of the part
     * @param tensor the part's elements
     * @param shape sizes of the whole tensor
     * @return a shard that this rank writes
     * @throws UsageException as the constructor
     */
    public static Shard part(String name, long offset, Tensor tensor, long... shape) {
        return new Shard(name, Shapes.list(shape), offset, tensor, false);
    }
}
