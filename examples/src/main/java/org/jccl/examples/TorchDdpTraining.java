package org.jccl.examples;

import java.util.Arrays;
import java.util.List;
import java.util.stream.LongStream;
import org.jccl.Interop;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;

/**
 * A Java rank of a PyTorch job: trains on handwritten digits beside Python ranks that run {@code
 * digits_ddp.py} with {@code DistributedDataParallel}. Rank 0 must be a Python one; it shuffles the
 * images, and gives its weights to the others at the beginning.
 */
public final class TorchDdpTraining {

    private final ProcessGroup world;
    private final Digits digits = Digits.load().train();
    private final Network network = new Network(0);

    private TorchDdpTraining(ProcessGroup world) {
        this.world = world;
    }

    /**
     * Runs one rank; start it with {@code jccl run} or torchrun. Exits with 1 if the weights differ
     * in any bit from those of rank 0.
     *
     * @param args number of epochs and images in a batch, the same as Python's (10 64)
     */
    public static void main(String[] args) {
        int epochs = args.length > 0 ? Integer.parseInt(args[0]) : 10;
        int batch = args.length > 1 ? Integer.parseInt(args[1]) : 64;
        boolean same;
        try (ProcessGroup world =
                ProcessGroup.builder().backend("gloo").interop(Interop.TORCH).build()) {
            TorchDdpTraining training = new TorchDdpTraining(world);
            training.train(epochs, batch);
            same = training.sameAsRank0();
            System.out.printf(
                    "rank %d, in Java: weights are %s rank 0%n",
                    world.rank(), same ? "the same bits as those of" : "NOT THOSE OF");
        }
        if (!same) {
            System.exit(1);
        }
    }

    private void train(int epochs, int batch) {
        try (TorchDdp ddp = new TorchDdp(world, network)) {
            Trainer trainer = new Trainer(network, ddp, world.rank(), world.size(), batch, 0);
            for (int epoch = 0; epoch < epochs; epoch++) {
                double loss = trainer.epoch(digits, orderOfRank0());
                try (Tensor sum = Tensor.copyOf(new double[] {loss})) {
                    world.sync().allReduce(sum, ReduceOp.SUM);
                }
            }
        }
    }

    private int[] orderOfRank0() {
        try (Tensor order = Tensor.copyOf(new long[digits.size()])) {
            world.sync().broadcast(order, 0);
            return LongStream.of(order.copyTo(new long[digits.size()]))
                    .mapToInt(Math::toIntExact)
                    .toArray();
        }
    }

    /** Whether the bits are those of rank 0, as Python's ranks ask too. */
    private boolean sameAsRank0() {
        float[] mine = flatWeights();
        boolean same;
        try (Tensor first = Tensor.copyOf(mine)) {
            world.sync().broadcast(first, 0);
            // Compares bits, not numbers.
            same = Arrays.equals(mine, first.copyTo(new float[mine.length]));
        }
        try (Tensor equal = Tensor.copyOf(new long[] {same ? 1 : 0})) {
            world.sync().allReduce(equal, ReduceOp.MIN);
        }
        return same;
    }

    private float[] flatWeights() {
        List<TorchParameter> parameters = TorchParameter.of(network);
        float[] all = new float[parameters.stream().mapToInt(TorchParameter::count).sum()];
        int offset = 0;
        for (TorchParameter parameter : parameters) {
            parameter.getWeights(all, offset);
            offset += parameter.count();
        }
        return all;
    }
}
