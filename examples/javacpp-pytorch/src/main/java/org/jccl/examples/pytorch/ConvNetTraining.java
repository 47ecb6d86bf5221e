package org.jccl.examples.pytorch;

import static org.bytedeco.pytorch.global.torch.cross_entropy_loss;
import static org.bytedeco.pytorch.global.torch.manual_seed;
import static org.bytedeco.pytorch.global.torch.set_num_threads;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Locale;
import java.util.function.Consumer;
import java.util.zip.CRC32C;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.jccl.ProcessGroup;
import org.jccl.examples.Weights;
import org.jccl.pytorch.DistributedDataParallel;
import org.jccl.pytorch.TorchLibrary;
import org.jccl.pytorch.TorchTensors;
import org.jccl.training.DistributedSampler;

/**
 * Data-parallel training of a small convolutional network on handwritten digits, by PyTorch's
 * autograd. At the end the program proves that all ranks have the same weights, bit by bit, and
 * that these equal those of a run in one process, up to rounding.
 */
public final class ConvNetTraining {

    private static final long SEED = 7;

    /** Images of all ranks in one step. */
    private static final int BATCH = 64;

    /** Measured on the CPU with 2 to 8 ranks and 1 to 6 epochs: at most 3e-7. */
    private static final double TOLERANCE = 1e-5;

    /** GPUs add in another order for a batch of another size. */
    private static final double TOLERANCE_OF_GPUS = 1e-4;

    private final ProcessGroup world;
    private final TrainingDevice where;
    private final int epochs;
    private final Digits train;
    private final Digits test;

    private ConvNetTraining(ProcessGroup world, TrainingDevice where, int epochs) {
        this.world = world;
        this.where = where;
        this.epochs = epochs;
        org.jccl.examples.Digits.Split split = org.jccl.examples.Digits.load();
        this.train = Digits.of(split.train(), where);
        this.test = Digits.of(split.test(), where);
    }

    /**
     * Runs one rank; start it with {@code jccl run} or torchrun, with a number of ranks that
     * divides 64. Exits with 1 if the proof fails.
     *
     * @param args the number of epochs (6), and {@code --device cuda} to train on GPUs
     */
    public static void main(String[] args) {
        TorchLibrary.load();
        set_num_threads(1); // ranks share a host
        TrainingDevice where = TrainingDevice.of(args);
        int epochs = where.arguments().isEmpty() ? 6 : Integer.parseInt(where.arguments().get(0));
        boolean proven;
        try (ProcessGroup world = where.world()) {
            proven = new ConvNetTraining(world, where, epochs).run();
        }
        if (!proven) {
            System.exit(1);
        }
    }

    private boolean run() {
        manual_seed(SEED + world.rank()); // ranks still begin with rank 0's network
        ConvNet net = where.move(new ConvNet());
        try (DistributedDataParallel ddp = DistributedDataParallel.of(world, net)) {
            print("%d images, %d ranks, batches of %d, %s", train.size(), world.size(), BATCH, ddp);
            DistributedSampler sampler = DistributedSampler.of(world, (int) train.size());
            train(net, sampler, BATCH / world.size(), ddp::backward);
        }
        print("test accuracy %.1f %%", 100 * net.accuracy(test));
        return prove(net);
    }

    private void train(
            ConvNet net, DistributedSampler sampler, int batch, Consumer<Tensor> backward) {
        SGDOptions options = new SGDOptions(0.05);
        options.momentum().put(0.9);
        SGD optimizer = new SGD(net.parameters(), options);
        for (int epoch = 0; epoch < epochs; epoch++) {
            int[] order = sampler.indices(epoch);
            for (int first = 0; first + batch <= order.length; first += batch) {
                PointerScope memoryOfThisStep = new PointerScope();
                int[] places = Arrays.copyOfRange(order, first, first + batch);
                Digits some = train.select(places, where);
                optimizer.zero_grad();
                backward.accept(cross_entropy_loss(net.forward(some.images()), some.labels()));
                optimizer.step();
                memoryOfThisStep.close();
            }
            print("epoch %d of %d", epoch + 1, epochs);
        }
    }

    private boolean prove(ConvNet net) {
        float[] weights = weights(net);
        boolean same = Weights.areSameOnAllRanks(world, weights);
        // Every rank must know, so that every rank can fail.
        double difference =
                Weights.largestOfRanks(
                        world, world.rank() == 0 ? Weights.difference(weights, trainAlone()) : 0);
        double tolerance = where.device().isCpu() ? TOLERANCE : TOLERANCE_OF_GPUS;
        boolean proven = same && difference <= tolerance;
        System.out.println(
                "rank " + world.rank() + " has weights " + Long.toHexString(checksum(weights)));
        print("weights are %s on all %d ranks", same ? "the same bits" : "NOT", world.size());
        print("largest difference from one process: %.1e (tolerance %.1e)", difference, tolerance);
        print(proven ? "PASSED" : "FAILED");
        return proven;
    }

    private float[] trainAlone() {
        print("the same in one process, to compare");
        manual_seed(SEED);
        ConvNet net = where.move(new ConvNet());
        DistributedSampler sampler =
                new DistributedSampler((int) train.size(), 1, 0, true, 0, false);
        train(net, sampler, BATCH, Tensor::backward);
        return weights(net);
    }

    private static float[] weights(ConvNet net) {
        TensorVector parameters = net.parameters();
        float[] all = new float[0];
        for (long i = 0; i < parameters.size(); i++) {
            org.jccl.Tensor parameter = TorchTensors.of(parameters.get(i).cpu());
            float[] some = parameter.copyTo(new float[(int) parameter.count()]);
            int before = all.length;
            all = Arrays.copyOf(all, before + some.length);
            System.arraycopy(some, 0, all, before, some.length);
        }
        return all;
    }

    private static long checksum(float[] weights) {
        ByteBuffer bytes = ByteBuffer.allocate(weights.length * Float.BYTES);
        bytes.asFloatBuffer().put(weights);
        CRC32C checksum = new CRC32C();
        checksum.update(bytes);
        return checksum.getValue();
    }

    /** One rank speaks for all. */
    private void print(String format, Object... values) {
        if (world.rank() == 0) {
            System.out.println(String.format(Locale.ROOT, format, values));
        }
    }
}
