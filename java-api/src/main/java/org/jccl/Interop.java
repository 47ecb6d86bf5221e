package org.jccl;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The API that other ranks of the same world may use. It determines the store keys and the data
 * with which ranks form groups. All ranks of a world must use the same value.
 *
 * <p>With PyTorch's ranks, {@link ProcessGroupBuilder#backend} also takes PyTorch's names of NCCL's
 * backends. {@code nccl2} makes {@link #TORCH} to {@link #TORCH_2_14_OPT_IN}, and {@code
 * nccl-legacy} makes {@link #TORCH_2_15} to {@link #TORCH}. {@code nccl-lazy} is rejected.
 */
public enum Interop {

    /** Every rank uses this API. */
    NONE,

    /**
     * Ranks may be Python processes that use {@code torch.distributed}. Groups have PyTorch's names
     * in the store, so every rank of the world must call {@link ProcessGroup#newGroup}, in the same
     * order as {@code new_group} in Python. Operations that PyTorch's ranks do not know are
     * rejected.
     */
    TORCH,

    /**
     * Same as {@link #TORCH}, for Python processes that passed {@code device_id} to {@code
     * init_process_group}. They form the world's communicator at once instead of at the first
     * collective, and use it for sends and receives. If the backend supports it, they split that
     * communicator to make groups.
     */
    TORCH_EAGER,

    /**
     * Same as {@link #TORCH}, for Python processes with PyTorch 2.15 or later. On CUDA they form
     * the world's communicator in {@code init_process_group}, under different keys. They send and
     * receive on it, and split it for every {@code new_group}. Gathering or reducing a list of
     * tensors is a different operation from doing so with one tensor that holds all parts.
     */
    TORCH_2_15,

    /**
     * Same as {@link #TORCH}, for Python processes with PyTorch 2.14 and {@code
     * TORCH_DIST_USE_NCCL2=1}. They use the keys and operations of {@link #TORCH_2_15}, but each
     * group forms its own communicator at its first collective.
     */
    TORCH_2_14_OPT_IN;

    /** The first minor version with the newer backend by default. */
    private static final int FIRST_NEWER = 15;

    private static final Pattern VERSION = Pattern.compile("(\\d{1,4})\\.(\\d{1,4})\\b.*");

    /**
     * Returns the value for ranks that run a version of PyTorch with its defaults: no {@code
     * device_id} in {@code init_process_group}, and the environment variable {@code
     * TORCH_DIST_USE_NCCL2} unset. If that variable is 1 in 2.14, use {@link #TORCH_2_14_OPT_IN}.
     * If it is 0 in 2.15 or later, use {@link #TORCH}.
     *
     * @param version {@code torch.__version__}, for instance {@code 2.15.0+cu130}
     * @return {@link #TORCH} or {@link #TORCH_2_15}
     * @throws UsageException if it is null or not a version from 2.0 on
     */
    public static Interop torch(String version) {
        Matcher parts = VERSION.matcher(version == null ? "" : version);
        if (!parts.matches() || Integer.parseInt(parts.group(1)) != 2) {
            throw new UsageException(
                    FailureContext.NONE,
                    "Interop.torch takes a version of PyTorch such as 2.15.0, got " + version);
        }
        return Integer.parseInt(parts.group(2)) < FIRST_NEWER ? TORCH : TORCH_2_15;
    }
}
