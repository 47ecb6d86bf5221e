package org.jccl.nccl;

import java.util.Optional;
import org.jccl.Interop;
import org.jccl.spi.CommunicatorConfig;

/**
 * What PyTorch's NCCL ranks agree on without a word: the keys of unique ids, beneath a group's
 * place in the store. PyTorch has two backends, which use other keys and make other calls; the
 * newer one is what {@code nccl} means from 2.15 on.
 */
final class NcclKeys {

    /**
     * The id of a group's communicator. PyTorch numbers the communicators that a group forms, one
     * for each device a rank uses; here a rank has one device.
     */
    private static final String OLDER = "0";

    /** The same of the newer backend, whose number counts attempts. */
    private static final String NEWER = "nccl_storekey_0";

    private NcclKeys() {}

    /** Whether the ranks of PyTorch have the newer backend. */
    static boolean isNewer(Interop interop) {
        return switch (interop) {
            case TORCH_2_15, TORCH_2_14_OPT_IN -> true;
            case NONE, TORCH, TORCH_EAGER -> false;
        };
    }

    /** The key of the id of a group's communicator. */
    static String communicator(CommunicatorConfig config) {
        return isNewer(config.interop()) ? newer(config) : OLDER;
    }

    /**
     * The key under which rank 0 offers the id if it takes the other ranks for those of the other
     * backend; empty where no such ranks are.
     */
    static Optional<String> misunderstood(CommunicatorConfig config) {
        if (config.interop() == Interop.NONE) {
            return Optional.empty();
        }
        return Optional.of(isNewer(config.interop()) ? OLDER : newer(config));
    }

    private static String newer(CommunicatorConfig config) {
        return config.interopName().orElseThrow() + "/" + NEWER;
    }

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
