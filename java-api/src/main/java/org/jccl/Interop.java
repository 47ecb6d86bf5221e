package org.jccl;

/**
 * What else than this API may be a rank of the same world. It decides where in the store the ranks
 * meet, and what they say to each other there and afterwards. All ranks of a world must agree.
 */
public enum Interop {

    /** Every rank runs this API. */
    NONE,

    /**
     * Ranks may be Python processes that use {@code torch.distributed}. Groups have PyTorch's names
     * in the store, so {@link ProcessGroup#newGroup} is called by every rank of the world, in the
     * same order as {@code new_group} in Python. What PyTorch's ranks do not know is refused.
     */
    TORCH
}
