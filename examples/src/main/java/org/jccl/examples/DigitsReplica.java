package org.jccl.examples;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.training.Replica;

/**
 * The network with its momentum as the state that each rank has a copy of. Which images a step uses
 * depends on the number of the step only, so a newcomer needs no state of a sampler.
 */
final class DigitsReplica implements Replica {

    private static final long SEED = 7;
    private static final int BATCH = 64;
    private static final float LEARNING_RATE = 0.1f;
    private static final float MOMENTUM = 0.9f;

    private final Digits train = Digits.load().train();
    private final Network network = new Network(SEED);
    private final List<Tensor> weights = new ArrayList<>();
    private final List<Tensor> velocities = new ArrayList<>();
    private final List<Tensor> gradients = new ArrayList<>();

    DigitsReplica() {
        this(Device.CPU);
    }

    /** The network computes in host memory; what ranks exchange is on the device. */
    DigitsReplica(Device device) {
        for (Layer layer : network.layers()) {
            weights.add(zeros(layer, device).copyFrom(layer.weights));
            velocities.add(zeros(layer, device));
            gradients.add(zeros(layer, device));
        }
    }

    static Tensor zeros(Layer layer) {
        return zeros(layer, Device.CPU);
    }

    private static Tensor zeros(Layer layer, Device device) {
        int count = layer.weights.length;
        return Tensor.allocate(device, DataType.FLOAT32, count).copyFrom(new float[count]);
    }

    Network network() {
        return network;
    }

    List<Tensor> weights() {
        return weights;
    }

    /** Averages the gradients of a batch, of which each member of the group takes a part. */
    boolean average(ProcessGroup group, long step) {
        gradients(group, step);
        gradients.forEach(gradient -> group.sync().allReduce(gradient, ReduceOp.AVG));
        return true;
    }

    /** Makes steps on this rank alone, beginning with given weights, or weights and momentum. */
    void stepsAlone(ProcessGroup group, long first, int count, List<Tensor> from) {
        for (int i = 0; i < from.size(); i++) {
            tensors().get(i).copyFrom(from.get(i));
        }
        for (long step = first; step < first + count; step++) {
            gradients(group, step);
            apply();
        }
    }

    /** Computes this rank's gradients of a batch. */
    private void gradients(ProcessGroup group, long step) {
        SplittableRandom random = new SplittableRandom(SEED + step);
        int[] batch = random.ints(BATCH, 0, train.size()).toArray();
        Digits mine =
                train.select(
                        batch,
                        BATCH * group.rank() / group.size(),
                        BATCH * (group.rank() + 1) / group.size());
        for (int i = 0; i < weights.size(); i++) {
            weights.get(i).copyTo(network.layers().get(i).weights);
        }
        network.computeGradients(mine, (float) group.size() / BATCH, layer -> {});
        for (int i = 0; i < weights.size(); i++) {
            gradients.get(i).copyFrom(network.layers().get(i).gradient);
        }
    }

    /** A step of gradient descent with momentum. */
    @Override
    public void apply() {
        for (int i = 0; i < weights.size(); i++) {
            float[] weight = network.layers().get(i).weights;
            float[] velocity = velocities.get(i).copyTo(new float[weight.length]);
            float[] gradient = gradients.get(i).copyTo(new float[weight.length]);
            weights.get(i).copyTo(weight);
            for (int j = 0; j < weight.length; j++) {
                velocity[j] = MOMENTUM * velocity[j] + gradient[j];
                weight[j] -= LEARNING_RATE * velocity[j];
            }
            weights.get(i).copyFrom(weight);
            velocities.get(i).copyFrom(velocity);
        }
    }

    @Override
    public List<Tensor> tensors() {
        List<Tensor> all = new ArrayList<>(weights);
        all.addAll(velocities);
        return all;
    }
}
