package org.jccl.training;

import org.jccl.Tensor;

/** The optimizer's step on this rank's part of a unit. */
@FunctionalInterface
public interface ShardUpdate {

    /**
     * Updates the parameters from the gradients. Both tensors are flat, have the same count, and
     * correspond element by element. The optimizer's state for each element has the same count. On
     * devices the update must run on the current stream.
     *
     * @param unit the unit of the elements
     * @param parameters this rank's parameters, to be updated
     * @param gradients this rank's reduced gradients
     */
    void update(ShardedUnit unit, Tensor parameters, Tensor gradients);
}
