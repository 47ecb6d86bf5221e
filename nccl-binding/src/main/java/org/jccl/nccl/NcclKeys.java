package org.jccl.nccl;

/**
 * What PyTorch's NCCL ranks agree on without a word: the keys of unique ids, beneath a group's
 * place in the store, and the colors of split communicators.
 */
final class NcclKeys {

    /**
     * The id of a group's communicator. PyTorch numbers the communicators that a group forms, one
     * for each device a rank uses; here a rank has one device.
     */
    static final String COMMUNICATOR = "0";

    private NcclKeys() {}

    /**
     * The id of the communicator that two ranks form for their messages. The lower one, which is
     * rank 0 of it, writes the id.
     *
     * @param rank one of the two, in the group
     * @param peer the other
     */
    static String pair(int rank, int peer) {
        return Math.min(rank, peer) + ":" + Math.max(rank, peer);
    }
}
