package org.jccl.training;

/** What each rank keeps a part of only. The rest it has whole, as with {@link GradientReducer}. */
public enum Sharding {

    /** What the optimizer keeps for each parameter (ZeRO, stage 1). */
    OPTIMIZER(true, true),

    /** That, and the gradients, which are whole from their first use until they are reduced. */
    GRADIENTS(true, false),

    /** All of it: parameters too are whole only between gathering and releasing them (FSDP). */
    PARAMETERS(false, false);

    final boolean keepsParameters;
    final boolean keepsGradients;

    Sharding(boolean keepsParameters, boolean keepsGradients) {
        this.keepsParameters = keepsParameters;
        this.keepsGradients = keepsGradients;
    }
}
