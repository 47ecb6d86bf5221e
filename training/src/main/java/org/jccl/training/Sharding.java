package org.jccl.training;

/**
 * The tensors of which each rank keeps only a part. All others are whole on every rank, as with
 * {@link GradientReducer}.
 */
public enum Sharding {

    /** The optimizer's state (ZeRO stage 1). */
    OPTIMIZER(true, true),

    /**
     * The optimizer's state and the gradients (ZeRO stage 2). Gradients are whole from their first
     * use until they are reduced.
     */
    GRADIENTS(true, false),

    /**
     * The optimizer's state, gradients and parameters (ZeRO stage 3, FSDP). Parameters are whole
     * between gather and release.
     */
    PARAMETERS(false, false);

    final boolean retainsParameters;
    final boolean retainsGradients;

    Sharding(boolean retainsParameters, boolean retainsGradients) {
        this.retainsParameters = retainsParameters;
        this.retainsGradients = retainsGradients;
    }
}
