package org.jccl.training;

import java.util.List;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;

/**
 * Finds the gradients that no rank used in a step, if gradients may be unused. Guarded by the
 * reducer's lock.
 */
final class GradientUse implements AutoCloseable {

    private final ProcessGroup group;
    private final List<Gradient> gradients;

    /** For each gradient, the number of ranks that used it; 0 or 1 before the reduction. */
    private final int[] ranks;

    private final Tensor sums;

    GradientUse(ProcessGroup group, Device device, List<Gradient> gradients) {
        this.group = group;
        this.gradients = gradients;
        ranks = new int[gradients.size()];
        sums = Tensor.allocate(device, DataType.INT32, ranks.length);
    }

    /** Reduces the use of gradients over all ranks. Blocks. */
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
