package org.jccl.training;

import java.util.List;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;

/**
 * Finds the gradients that no rank had in a step, where a step may leave some out. Guarded by the
 * reducer's lock.
 */
final class GradientUse implements AutoCloseable {

    private final ProcessGroup group;
    private final List<Gradient> gradients;

    /** For each gradient the number of ranks that had it; 0 or 1 before they are added up. */
    private final int[] ranks;

    private final Tensor sums;

    GradientUse(ProcessGroup group, Device device, List<Gradient> gradients) {
        this.group = group;
        this.gradients = gradients;
        ranks = new int[gradients.size()];
        sums = Tensor.allocate(device, DataType.INT32, ranks.length);
    }

    /** Tells all ranks which gradients this one had; blocks. */
    void agree(boolean takesPart) {
        for (int i = 0; i < ranks.length; i++) {
            boolean here = takesPart && gradients.get(i).state == Gradient.State.READY;
            ranks[i] = here ? 1 : 0;
        }
        sums.copyFrom(ranks);
        group.allReduce(sums, ReduceOp.SUM).synchronize();
        sums.copyTo(ranks);
        for (int i = 0; i < ranks.length; i++) {
            gradients.get(i).usedAnywhere = ranks[i] > 0;
        }
    }

    @Override
    public void close() {
        sums.close();
    }
}
