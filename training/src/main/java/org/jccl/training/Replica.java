package org.jccl.training;

import java.util.List;
import org.jccl.Tensor;

/**
 * The replicated state of a training job, for {@link Commit}. Every rank has a copy. Programs
 * implement this interface. The thread that uses the {@link Commit} calls all methods.
 */
public interface Replica {

    /**
     * Returns the tensors that a rank needs to continue: parameters, and the state of the
     * optimizer. All ranks return the same number of tensors with the same types and counts, on the
     * devices of the group.
     *
     * @return at least one tensor; the caller neither closes nor keeps them
     */
    List<Tensor> tensors();

    /**
     * Returns the remaining state, for instance the position of the sampler and the state of random
     * numbers. It must be the same on all ranks.
     *
     * @return the state in any format; at most 1 MiB
     */
    default byte[] other() {
        return new byte[0];
    }

    /**
     * Restores the state that {@link #other} returned on another rank. The tensors were received
     * before.
     *
     * @param bytes the bytes from the other rank
     */
    default void restore(byte[] bytes) {}

    /**
     * Makes the step: updates the parameters with the averaged gradients that this rank had when it
     * voted. The program must keep those gradients, because the step may be decided in a later
     * generation of the group.
     */
    void apply();
}
