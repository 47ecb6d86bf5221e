package org.jccl.training;

import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.Work;

/**
 * Counts the ranks that take part in a step. Used if ranks may have different numbers of batches.
 * Guarded by the reducer's lock.
 */
final class ActiveRanks implements AutoCloseable {

    private static final int RANK_BITS = 24;

    private final ProcessGroup group;
    private final Device device;
    private final Tensor count;
    private final Tensor one;
    private final Tensor zero;
    private Work counting;
    private long steps;

    ActiveRanks(ProcessGroup group, Device device) {
        this.group = group;
        this.device = device;
        count = number(0);
        one = number(1);
        zero = number(0);
    }

    private Tensor number(int value) {
        return Tensor.allocate(device, DataType.INT32, 1).copyFrom(new int[] {value});
    }

    /** Starts the count, before the buckets of a step. */
    void begin(boolean takesPart) {
        count.copyFrom(takesPart ? one : zero);
        counting = group.allReduce(count, ReduceOp.SUM);
        steps += takesPart ? 1 : 0;
    }

    /** Waits for the count of a step, as {@link Work#await} does. */
    void await() {
        if (counting != null) {
            counting.await();
            counting = null;
        }
    }

    /** Returns how many ranks take part in this step. Blocks. */
    int count() {
        counting.synchronize();
        counting = null;
        return count.copyTo(new int[1])[0];
    }

    /**
     * Returns a rank that began the most steps, and resets the count of steps. All ranks return the
     * same.
     */
    int rankWithMostSteps() {
        long[] mine = {steps << RANK_BITS | group.rank()};
        try (Tensor most = Tensor.allocate(device, DataType.INT64, 1).copyFrom(mine)) {
            group.allReduce(most, ReduceOp.MAX).synchronize();
            steps = 0;
            return (int) (most.copyTo(mine)[0] & (1 << RANK_BITS) - 1);
        }
    }

    @Override
    public void close() {
        count.close();
        one.close();
        zero.close();
    }
}
