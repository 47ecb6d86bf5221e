package org.jccl.nccl;

import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import org.jccl.FailureContext;
import org.jccl.Interop;
import org.jccl.UsageException;
import org.jccl.spi.CommunicatorConfig;

/**
 * The keys of unique ids that PyTorch's NCCL ranks use, below a group's prefix in the store.
 * PyTorch has two backends, which use different keys and calls. From 2.15 on, {@code nccl} means
 * the newer one.
 */
final class NcclKeys {

    /**
     * The id of a group's communicator. PyTorch numbers the communicators that a group forms, one
     * for each device a rank uses; here a rank has one device.
     */
    private static final String OLDER = "0";

    /** The same for the newer backend, whose number counts attempts. */
    private static final String NEWER = "nccl_storekey_0";

    /** PyTorch's variable for the number of ranks per id. */
    static final String RANKS_PER_ROOT = "TORCH_NCCL_RANKS_PER_ROOT";

    private static final int DEFAULT_RANKS_PER_ROOT = 128;

    private NcclKeys() {}

    /** Returns whether the ranks of PyTorch have the newer backend. */
    static boolean isNewer(Interop interop) {
        return switch (interop) {
            case TORCH_2_15, TORCH_2_14_OPT_IN -> true;
            case NONE, TORCH, TORCH_EAGER -> false;
        };
    }

    /**
     * Returns the ranks that PyTorch's name of a backend selects.
     *
     * @param name in lower case
     * @param interop the user's setting
     * @return the kind of ranks, or empty if it is not a name of NCCL
     * @throws UsageException if such ranks are not supported
     */
    static Optional<Interop> named(String name, Interop interop) {
        return switch (name) {
            case "nccl" -> Optional.of(interop);
            case "nccl-legacy" -> Optional.of(isNewer(interop) ? Interop.TORCH : interop);
            case "nccl2" -> {
                if (interop == Interop.TORCH_EAGER) {
                    throw unsupported(
                            "nccl2 with device_id in PyTorch 2.14 creates groups without some of"
                                    + " their ranks; leave out device_id, or use PyTorch 2.15");
                }
                yield Optional.of(interop == Interop.TORCH ? Interop.TORCH_2_14_OPT_IN : interop);
            }
            case "nccl-lazy" ->
                    throw unsupported(
                            "the ranks of nccl-lazy send messages on communicators that are not supported here; use nccl2 or nccl-legacy on all ranks");
            default -> Optional.empty();
        };
    }

    private static UsageException unsupported(String why) {
        return new UsageException(FailureContext.NONE, why);
    }

    /** The keys of the ids of a group's communicator: one, or one for each block of its ranks. */
    static List<String> communicator(CommunicatorConfig config) {
        return keys(config, isNewer(config.interop()), roots(config));
    }

    /**
     * The keys of the ids if the ranks had the other backend; empty where no ranks of PyTorch are.
     */
    static List<String> misunderstood(CommunicatorConfig config) {
        if (config.interop() == Interop.NONE) {
            return List.of();
        }
        return keys(config, !isNewer(config.interop()), roots(config));
    }

    private static List<String> keys(CommunicatorConfig config, boolean newer, int roots) {
        String one = newer ? config.interopName().orElseThrow() + "/" + NEWER : OLDER;
        if (roots == 1) {
            return List.of(one);
        }
        String many = newer ? one + "_" : "UniqueNCCLID:";
        return IntStream.range(0, roots).mapToObj(root -> many + root).toList();
    }

    /**
     * Returns the number of ids. PyTorch 2.14 has one with the newer backend, for any size of the
     * group.
     */
    private static int roots(CommunicatorConfig config) {
        return switch (config.interop()) {
            case NONE, TORCH_2_14_OPT_IN -> 1;
            case TORCH, TORCH_EAGER, TORCH_2_15 ->
                    roots(config.size(), System.getenv(RANKS_PER_ROOT));
        };
    }

    /**
     * Returns how many ids PyTorch's ranks share.
     *
     * @param size the number of ranks
     * @param said the variable, or null
     */
    static int roots(int size, String said) {
        String number = said == null ? "" : said.strip();
        int most =
                number.matches("[1-9][0-9]{0,8}")
                        ? Integer.parseInt(number)
                        : DEFAULT_RANKS_PER_ROOT;
        return (size + most - 1) / most;
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
