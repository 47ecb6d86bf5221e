package org.jccl.examples;

import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.training.Commit;
import org.jccl.training.Replica;

/**
 * DiLoCo: as {@link LocalSgd}, but what the ranks average is how far they went, and an optimizer
 * with Nesterov momentum takes that as the gradient of the shared weights. Start it as {@link
 * ReplacedRanks}, with the number of meetings.
 */
public final class DiLoCo implements Replica {

    private static final int STEPS = 20;
    private static final float LEARNING_RATE = 0.7f;
    private static final float MOMENTUM = 0.9f;

    private final DigitsReplica local = new DigitsReplica();
    private final List<Tensor> shared = local.weights().stream().map(LocalSgd::copy).toList();
    private final List<Tensor> momentum =
            local.network().layers().stream().map(DigitsReplica::zeros).toList();
    private final List<Tensor> distance =
            local.network().layers().stream().map(DigitsReplica::zeros).toList();

    private DiLoCo() {}

    private static float[] values(Tensor tensor) {
        return tensor.copyTo(new float[(int) tensor.count()]);
    }

    /** Makes steps alone, from the shared weights on, and averages how far they led. */
    private boolean meet(ProcessGroup group, long meeting) {
        local.stepsAlone(group, meeting * STEPS, STEPS, shared);
        for (int i = 0; i < shared.size(); i++) {
            float[] far = values(shared.get(i));
            float[] reached = values(local.weights().get(i));
            for (int j = 0; j < far.length; j++) {
                far[j] -= reached[j];
            }
            distance.get(i).copyFrom(far);
            group.sync().allReduce(distance.get(i), ReduceOp.AVG);
        }
        return true;
    }

    @Override
    public List<Tensor> tensors() {
        return Stream.concat(shared.stream(), momentum.stream()).toList();
    }

    @Override
    public void apply() {
        for (int i = 0; i < shared.size(); i++) {
            float[] weight = values(shared.get(i));
            float[] velocity = values(momentum.get(i));
            float[] gradient = values(distance.get(i));
            for (int j = 0; j < weight.length; j++) {
                velocity[j] = MOMENTUM * velocity[j] + gradient[j];
                weight[j] -= LEARNING_RATE * (gradient[j] + MOMENTUM * velocity[j]);
            }
            shared.get(i).copyFrom(weight);
            momentum.get(i).copyFrom(velocity);
        }
    }

    /**
     * Runs one rank.
     *
     * @param args the number of meetings
     */
    public static void main(String[] args) {
        DiLoCo replica = new DiLoCo();
        new Commit(replica)
                .run(
                        ProcessGroup.builder().backend("gloo").reconfigurable(1),
                        Long.parseLong(args[0]),
                        Duration.ofSeconds(20),
                        replica::meet);
        System.exit(Accuracy.print(replica.local.network(), replica.shared) ? 0 : 1);
    }
}
