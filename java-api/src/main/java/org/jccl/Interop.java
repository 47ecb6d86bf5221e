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
    TORCH,

    /**
     * As {@link #TORCH}, where the Python processes gave {@code device_id} to {@code
     * init_process_group}: they form the world's communicator at once instead of at the first
     * collective, send and receive on it, and split it to make groups, where the backend can.
     */
    TORCH_EAGER
}
