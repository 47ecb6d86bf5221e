package org.jccl.training;

import java.util.List;
import org.jccl.FailureContext;
import org.jccl.ProcessGroup;
import org.jccl.UsageException;

/**
 * Which samples of a data set this rank takes in an epoch, as PyTorch's {@code DistributedSampler}:
 * every rank the same number, and together all of them. Where the ranks do not divide the samples,
 * some are taken twice, or the last ones are left out. An epoch's order depends on the seed and the
 * epoch only, so ranks agree without a message; it is not PyTorch's order.
 *
 * @param samples number of samples of all ranks, not negative
 * @param ranks number of ranks, at least 1
 * @param rank this rank
 * @param shuffle whether each epoch has an order of its own
 * @param seed of the orders, the same on all ranks
 * @param dropLast whether samples are left out rather than taken twice
 */
public record DistributedSampler(
        int samples, int ranks, int rank, boolean shuffle, long seed, boolean dropLast) {

    private static final long GOLDEN_GAMMA = 0x9e3779b97f4a7c15L;

    /**
     * Checks the arguments.
     *
     * @param samples number of samples of all ranks
     * @param ranks number of ranks
     * @param rank this rank
     * @param shuffle whether each epoch has an order of its own
     * @param seed of the orders
     * @param dropLast whether samples are left out rather than taken twice
     * @throws UsageException when there are no ranks, the rank is none of them, or the number of
     *     samples is negative
     */
    public DistributedSampler {
        if (samples < 0 || ranks < 1 || rank < 0 || rank >= ranks) {
            throw new UsageException(
                    FailureContext.NONE,
                    "no sampler for rank "
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
                    samples + " samples for " + ranks + " ranks are more than an int counts");
        }
    }

    /**
     * A sampler that shuffles with seed 0 and takes some samples twice rather than leaving any out.
     *
     * @param group whose ranks share the samples
     * @param samples number of samples of all ranks
     * @return the sampler of this rank
     * @throws UsageException when the group is null or the number negative
     */
    public static DistributedSampler of(ProcessGroup group, int samples) {
        if (group == null) {
            throw new UsageException(FailureContext.NONE, "group is null");
        }
        return new DistributedSampler(samples, group.size(), group.rank(), true, 0, false);
    }

    /**
     * The same with another seed.
     *
     * @param other the same on all ranks
     * @return a sampler that shuffles
     */
    public DistributedSampler withSeed(long other) {
        return new DistributedSampler(samples, ranks, rank, true, other, dropLast);
    }

    /**
     * The same in the order of the data set.
     *
     * @return a sampler that does not shuffle
     */
    public DistributedSampler inOrder() {
        return new DistributedSampler(samples, ranks, rank, false, seed, dropLast);
    }

    /**
     * The same, but the last samples are left out where the ranks do not divide them.
     *
     * @return a sampler that takes no sample twice
     */
    public DistributedSampler droppingLast() {
        return new DistributedSampler(samples, ranks, rank, shuffle, seed, true);
    }

    /**
     * Number of samples that each rank takes in an epoch.
     *
     * @return the same on all ranks
     */
    public int length() {
        return (int) perRank(samples, ranks, dropLast);
    }

    private static long perRank(int samples, int ranks, boolean dropLast) {
        return dropLast ? samples / ranks : ((long) samples + ranks - 1) / ranks;
    }

    /**
     * The samples that this rank takes in an epoch.
     *
     * @param epoch any number, the same on all ranks
     * @return {@link #length} indices of samples
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
     * Asks all ranks whether they are about to draw from the same samples in the same epoch. Ranks
     * that do not would take samples twice and others never, or make different numbers of batches,
     * and nothing would tell them. Every rank calls it, at the same place; it blocks until all
     * have.
     *
     * @param group whose ranks share the samples
     * @param epoch that this rank is about to begin
     * @throws UsageException when the group is null, or of another size or rank than this
     * @throws DifferentModelsException when ranks have another number of samples, seed, option or
     *     epoch; all ranks throw it
     * @throws org.jccl.JcclException when the ranks can not be compared
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

    /** Fisher and Yates, with SplitMix64: the same on every Java. */
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
