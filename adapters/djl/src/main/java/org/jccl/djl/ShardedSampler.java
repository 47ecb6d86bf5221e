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
 * Gives each rank its own part of a data set: call {@code setSampling(new ShardedSampler(world,
 * 32))} of the data set's builder. Each time DJL starts to read the data set, an epoch with another
 * order begins. All ranks must begin it together. They compare their epochs, because ranks with
 * different epochs would read some samples twice and others never. If only some ranks read a data
 * set, for instance to validate, use a sampler of DJL.
 *
 * <p>The thread that runs the loop blocks in this class until all ranks have arrived.
 */
public final class ShardedSampler implements Sampler {

    private final ProcessGroup group;
    private final int batchSize;
    private final UnaryOperator<DistributedSampler> options;
    private int epoch;

    /**
     * Shuffles with seed 0, and takes some samples twice if their number is not divisible by that
     * of the ranks.
     *
     * @param group whose ranks share the data set
     * @param batchSize samples of a batch of one rank, at least 1; the last one of an epoch may
     *     have fewer, on all ranks as many
     * @throws UsageException if the group is null or the size not positive
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
     * @throws UsageException if an argument is null or the size not positive
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
     * @throws UsageException if the data set has more samples than an int counts
     * @throws org.jccl.training.DifferentModelsException if ranks begin different epochs, or have
     *     data sets of different sizes or other options; all ranks throw it
     * @throws org.jccl.JcclException if the comparison of the ranks fails
     */
    @Override
    public Iterator<List<Long>> sample(RandomAccessDataset dataset) {
        long size = dataset.size();
        if (size > Integer.MAX_VALUE) {
            throw new UsageException(
                    FailureContext.ofGroup(group.name(), group.rank()),
                    "the data set has " + size + " samples, more than an int can count");
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
