package org.jccl.djl;

import ai.djl.training.dataset.RandomAccessDataset;
import ai.djl.training.dataset.Sampler;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import org.jccl.FailureContext;
import org.jccl.ProcessGroup;
import org.jccl.UsageException;
import org.jccl.training.DistributedSampler;

/**
 * Gives each rank its own part of a data set: {@code setSampling(new ShardedSampler(world, 32))} of
 * the data set's builder. Each time DJL begins to read the data set is an epoch with another order,
 * and all ranks must begin it together: they ask each other, since ranks that count epochs
 * differently would read samples twice and others never. For a data set that only some ranks read,
 * to validate for instance, take a sampler of DJL's.
 *
 * <p>For the thread that runs the loop, on which it blocks until all ranks have come.
 */
public final class ShardedSampler implements Sampler {

    private final ProcessGroup group;
    private final int batchSize;
    private final UnaryOperator<DistributedSampler> options;
    private int epoch;

    /**
     * Shuffles with seed 0, and takes some samples twice where the ranks do not divide them.
     *
     * @param group whose ranks share the data set
     * @param batchSize samples of a batch of one rank, at least 1; the last one of an epoch may
     *     have fewer, on all ranks as many
     * @throws UsageException when the group is null or the size not positive
     */
    public ShardedSampler(ProcessGroup group, int batchSize) {
        this(group, batchSize, sampler -> sampler);
    }

    /**
     * With options, for instance {@code sampler -> sampler.withSeed(7).droppingLast()}.
     *
     * @param group whose ranks share the data set
     * @param batchSize samples of a batch of one rank, at least 1
     * @param options the same on all ranks
     * @throws UsageException when an argument is null or the size not positive
     */
    public ShardedSampler(
            ProcessGroup group, int batchSize, UnaryOperator<DistributedSampler> options) {
        if (group == null || options == null) {
            throw new UsageException(
                    FailureContext.NONE, (group == null ? "group" : "options") + " is null");
        }
        if (batchSize < 1) {
            throw new UsageException(
                    FailureContext.ofGroup(group.name(), group.rank()),
                    "batchSize must be at least 1, got " + batchSize);
        }
        this.group = group;
        this.batchSize = batchSize;
        this.options = options;
    }

    /**
     * Begins an epoch, together with all ranks.
     *
     * @param dataset of the same size on all ranks
     * @return this rank's batches, as many as on any other rank
     * @throws UsageException when the data set has more samples than an int counts
     * @throws org.jccl.training.DifferentModelsException when ranks begin different epochs, or have
     *     data sets of different sizes or other options; all ranks throw it
     * @throws org.jccl.JcclException when the ranks can not be asked
     */
    @Override
    public Iterator<List<Long>> sample(RandomAccessDataset dataset) {
        long size = dataset.size();
        if (size > Integer.MAX_VALUE) {
            throw new UsageException(
                    FailureContext.ofGroup(group.name(), group.rank()),
                    "the data set has " + size + " samples, more than an int counts");
        }
        DistributedSampler sampler = options.apply(DistributedSampler.of(group, (int) size));
        sampler.requireSame(group, epoch);
        int[] mine = sampler.indices(epoch++);
        return IntStream.iterate(0, from -> from < mine.length, from -> from + batchSize)
                .mapToObj(from -> batch(mine, from))
                .iterator();
    }

    private List<Long> batch(int[] mine, int from) {
        int to = (int) Math.min(mine.length, (long) from + batchSize);
        return Arrays.stream(mine, from, to).asLongStream().boxed().toList();
    }

    /** Samples of a batch of this rank. */
    @Override
    public int getBatchSize() {
        return batchSize;
    }
}
