package org.jccl;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Which other API ranks of the same world may run. It determines where in the store the ranks meet,
 * and what they exchange. All ranks of a world must use the same value.
 *
 * <p>With PyTorch's ranks, {@link ProcessGroupBuilder#backend} also takes PyTorch's names of NCCL's
 * backends. {@code nccl2} makes {@link #TORCH} to {@link #TORCH_2_14_OPT_IN}, and {@code
 * nccl-legacy} makes {@link #TORCH_2_15} to {@link #TORCH}. {@code nccl-lazy} is rejected.
 */
public enum Interop {

    /** Every rank runs this API. */
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
     * init_process_group}. They form the communicator of the world at once instead of at the first
     * collective, send and receive on it, and split it to make groups if the backend supports that.
     */
    TORCH_EAGER,

    /**
     * As {@link #TORCH}, where the Python processes run PyTorch 2.15 or later: on CUDA they form
     * the world's communicator in {@code init_process_group}, under other keys than before, send
     * and receive on it, and split it for every {@code new_group}. A list of tensors to gather or
     * to reduce is another operation to them than one tensor that holds all parts.
     */
    TORCH_2_15,

    /**
     * As {@link #TORCH}, where the Python processes run PyTorch 2.14 with {@code
     * TORCH_DIST_USE_NCCL2=1}: the keys and operations of {@link #TORCH_2_15}, but each group forms
     * a communicator of its own at its first collective.
     */
    TORCH_2_14_OPT_IN;

    /** The first minor version with the newer backend by default. */
    private static final int FIRST_NEWER = 15;

    private static final Pattern VERSION = Pattern.compile("(\\d{1,4})\\.(\\d{1,4})\\b.*");

    /**
     * What ranks of a version of PyTorch are by default: those that give no {@code device_id} to
     * {@code init_process_group}, and leave the environment variable {@code TORCH_DIST_USE_NCCL2}
     * unset. If it is 1 in 2.14, use {@link #TORCH_2_14_OPT_IN} instead, and if it is 0 from 2.15
     * on, {@link #TORCH}.
     *
     * @param version {@code torch.__version__}, for instance {@code 2.15.0+cu130}
     * @return {@link #TORCH} or {@link #TORCH_2_15}
     * @throws UsageException when it is null or no version from 2.0 on
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
