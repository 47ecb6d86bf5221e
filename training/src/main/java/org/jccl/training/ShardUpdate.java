package org.jccl.training;

import org.jccl.Tensor;

/** The step of an optimizer on what this rank has of a unit. */
@FunctionalInterface
public interface ShardUpdate {

    /**
     * Changes the parameters by the gradients. Both are flat, of the same count and elements of the
     * same parameters, so that what an optimizer keeps for each element has that count too. On
     * devices it works in the order of the current stream.
     *
     * @param unit whose elements these are
     * @param parameters of this rank, to be changed
     * @param gradients reduced
     */
    void update(ShardedUnit unit, Tensor parameters, Tensor gradients);
}
