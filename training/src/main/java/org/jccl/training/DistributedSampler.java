package org.jccl.training;

import java.util.List;
import org.jccl.FailureContext;
import org.jccl.ProcessGroup;
import org.jccl.UsageException;

/**
 * Selects the samples of a data set that this rank processes in an epoch, like PyTorch's {@code
 * DistributedSampler}. All ranks get the same number of samples, and together they cover the data
 * set. If the number of samples is not a multiple of the number of ranks, some samples are used
 * twice, or the last ones are dropped. The order depends only on the seed and the epoch, so ranks
 * agree without communication. It is not PyTorch's order.
 *
 * @param samples the number of samples of all ranks, 0 or more
 * @param ranks the number of ranks, at least 1
 * @param rank this rank
 * @param shuffle whether each epoch has its own order
 * @param seed the seed of the orders, the same on all ranks
 * @param dropLast whether samples are dropped rather than used twice
 */
public record DistributedSampler(
        int samples, int ranks, int rank, boolean shuffle, long seed, boolean dropLast) {

    private static final long GOLDEN_GAMMA = 0x9e3779b97f4a7c15L;

    /**
     * Creates a sampler.
     *
     * @param samples the number of samples of all ranks
     * @param ranks the number of ranks
     * @param rank this rank
     * @param shuffle whether each epoch has its own order
     * @param seed the seed of the orders
     * @param dropLast whether samples are dropped rather than used twice
     * @throws UsageException if there are no ranks, the rank is out of range, or the number of
     *     samples is negative
     */
    public DistributedSampler {
        if (samples < 0 || ranks < 1 || rank < 0 || rank >= ranks) {
            throw new UsageException(
                    FailureContext.NONE,
                    "cannot make a sampler for rank "
                            + rank
                            + " of "
                            + ranks
                            + " and "
                            + samples
                            + " samples");
        }
        if (!dropLast
                && samples > 0
                && perRank(samples, ranks, false) * ranks > Integer.MAX_VALUE) {
            throw new UsageException(
                    FailureContext.NONE,
                    samples + " samples for " + ranks + " ranks are more than an int can count");
        }
    }

    /**
     * Returns a sampler that shuffles with seed 0 and drops no samples.
     *
     * @param group the group whose ranks share the samples
     * @param samples the number of samples of all ranks
     * @return the sampler of this rank
     * @throws UsageException if the group is null or the number negative
     */
    public static DistributedSampler of(ProcessGroup group, int samples) {
        if (group == null) {
            throw new UsageException(FailureContext.NONE, "group is null");
        }
        return new DistributedSampler(samples, group.size(), group.rank(), true, 0, false);
    }

    /**
     * Returns a copy with another seed.
     *
     * @param other the seed, the same on all ranks
     * @return a sampler that shuffles
     */
    public DistributedSampler withSeed(long other) {
        return new DistributedSampler(samples, ranks, rank, true, other, dropLast);
    }

    /**
     * Returns a copy that keeps the order of the data set.
     *
     * @return a sampler that does not shuffle
     */
    public DistributedSampler inOrder() {
        return new DistributedSampler(samples, ranks, rank, false, seed, dropLast);
    }

    /**
     * Returns a copy that drops the last samples if they cannot be divided evenly.
     *
     * @return a sampler that uses no sample twice
     */
    public DistributedSampler droppingLast() {
        return new DistributedSampler(samples, ranks, rank, shuffle, seed, true);
    }

    /**
     * Returns the number of samples that each rank gets in an epoch.
     *
     * @return the number, the same on all ranks
     */
    public int length() {
        return (int) perRank(samples, ranks, dropLast);
    }

    private static long perRank(int samples, int ranks, boolean dropLast) {
        return dropLast ? samples / ranks : ((long) samples + ranks - 1) / ranks;
    }

    /**
     * Returns the samples that this rank gets in an epoch.
     *
     * @param epoch any number, the same on all ranks
     * @return the indices of {@link #length} samples
     */
    public int[] indices(int epoch) {
        int[] order = new int[samples];
        for (int i = 0; i < samples; i++) {
            order[i] = i;
        }
        if (shuffle) {
            shuffle(order, epoch);
        }
        int[] mine = new int[length()];
        for (int i = 0; i < mine.length; i++) {
            mine[i] = order[(int) (((long) i * ranks + rank) % samples)];
        }
        return mine;
    }

    /**
     * Checks that all ranks use the same sampler and epoch. Without this check, ranks that differ
     * would silently repeat or skip samples or process different numbers of batches. All ranks must
     * call it at the same point; it blocks until all ranks have called it.
     *
     * @param group the group whose ranks share the samples
     * @param epoch the epoch that this rank is about to begin
     * @throws UsageException if the group is null, or its size or rank differs from the sampler's
     * @throws DifferentModelsException if the number of samples, seed, options or epoch differ
     *     between ranks; all ranks throw it
     * @throws org.jccl.JcclException if the comparison fails
     */
    public void requireSame(ProcessGroup group, int epoch) {
        if (group == null) {
            throw new UsageException(FailureContext.NONE, "group is null");
        }
        if (group.size() != ranks || group.rank() != rank) {
            throw new UsageException(
                    FailureContext.ofGroup(group.name(), group.rank()),
                    "a sampler for rank " + rank + " of " + ranks + " is not for this group");
        }
        ModelCheck.requireSame(
                group,
                group.devices().get(0),
                List.of(
                        samples + " samples",
                        shuffle ? "an order with seed " + seed : "the order of the data set",
                        dropLast ? "the last samples left out" : "some samples twice",
                        "epoch " + epoch),
                "all ranks must draw from the same samples, and begin each epoch together");
    }

    /** A Fisher-Yates shuffle with SplitMix64, which gives the same order on every Java version. */
    private void shuffle(int[] order, int epoch) {
        long state = mix(seed) + epoch * GOLDEN_GAMMA;
        state = mix(state);
        for (int i = order.length - 1; i > 0; i--) {
            state += GOLDEN_GAMMA;
            int other = (int) ((mix(state) >>> 11) * 0x1p-53 * (i + 1));
            int moved = order[i];
            order[i] = order[other];
            order[other] = moved;
        }
    }

    private static long mix(long bits) {
        bits = (bits ^ bits >>> 30) * 0xbf58476d1ce4e5b9L;
        bits = (bits ^ bits >>> 27) * 0x94d049bb133111ebL;
        return bits ^ bits >>> 31;
    }
}
