package org.jccl.training;

import java.util.List;
import org.jccl.Tensor;

/**
 * The state that every rank of a job has a copy of, for {@link Commit}. Programs implement it. All
 * methods are called by the thread that calls {@link Commit}.
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
     * Returns what else a rank needs, for instance the position of the sampler and the state of
     * random numbers. It must not depend on the rank.
     *
     * @return any bytes; at most 1 MiB
     */
    default byte[] other() {
        return new byte[0];
    }

    /**
     * Takes what {@link #other} returned on another rank. The tensors have been received before.
     *
     * @param bytes what another rank returned
     */
    default void restore(byte[] bytes) {}

    /**
     * Makes the step: changes the parameters with the averaged gradients that this rank had when it
     * voted. They must still be there: the step may be decided in a later generation of the group.
     */
    void apply();
}
