package org.jccl.examples;

import java.time.Duration;
import java.util.List;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.training.Commit;
import org.jccl.training.Replica;

/**
 * Local SGD: ranks meet every 20 steps only, and average their weights. Lost ranks are replaced;
 * then all go back to the last average. Start it as {@link ReplacedRanks}, with the number of
 * meetings.
 */
public final class LocalSgd implements Replica {

    private static final int STEPS = 20;

    private final DigitsReplica local = new DigitsReplica();
    private final List<Tensor> shared = local.tensors().stream().map(LocalSgd::copy).toList();
    private final List<Tensor> average = local.tensors().stream().map(LocalSgd::copy).toList();

    private LocalSgd() {}

    static Tensor copy(Tensor tensor) {
        return Tensor.copyOf(tensor.copyTo(new float[(int) tensor.count()]));
    }

    /** Makes steps alone, from the last average on, and averages what comes out. */
    private boolean meet(ProcessGroup group, long meeting) {
        local.stepsAlone(group, meeting * STEPS, STEPS, shared);
        for (int i = 0; i < shared.size(); i++) {
            average.get(i).copyFrom(local.tensors().get(i));
            group.sync().allReduce(average.get(i), ReduceOp.AVG);
        }
        return true;
    }

    @Override
    public List<Tensor> tensors() {
        return shared;
    }

    @Override
    public void apply() {
        for (int i = 0; i < shared.size(); i++) {
            shared.get(i).copyFrom(average.get(i));
        }
    }

    /**
     * Runs one rank.
     *
     * @param args the number of meetings
     */
    public static void main(String[] args) {
        LocalSgd replica = new LocalSgd();
        new Commit(replica)
                .run(
                        ProcessGroup.builder().backend("gloo").reconfigurable(1),
                        Long.parseLong(args[0]),
                        Duration.ofSeconds(20),
                        replica::meet);
        System.exit(Accuracy.print(replica.local.network(), replica.shared.subList(0, 2)) ? 0 : 1);
    }
}
