package org.jccl.examples;

import java.time.Duration;
import java.util.Locale;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;

/**
 * Data-parallel training of a small network on handwritten digits.
 *
 * <p>Each rank has a copy of the network and computes the gradients of its part of every batch; the
 * ranks average them by all-reduce and make the same step. At the end the program proves that all
 * ranks have the same weights, and that these equal those of a run on one rank, up to rounding.
 */
public final class DigitsTraining {

    private static final long SEED = 7;

    private record Options(String backend, int epochs, int batch) {

        static Options parse(String[] args) {
            String backend = "gloo";
            int epochs = 30;
            int batch = 64;
            if (args.length % 2 != 0) {
                throw new IllegalArgumentException(
                        "usage: DigitsTraining [--backend NAME] [--epochs N] [--batch N]");
            }
            for (int i = 0; i < args.length; i += 2) {
                switch (args[i]) {
                    case "--backend" -> backend = args[i + 1];
                    case "--epochs" -> epochs = Integer.parseInt(args[i + 1]);
                    case "--batch" -> batch = Integer.parseInt(args[i + 1]);
                    default -> throw new IllegalArgumentException("unknown option " + args[i]);
                }
            }
            return new Options(backend, epochs, batch);
        }
    }

    private final ProcessGroup world;
    private final Options options;
    private final Digits.Split digits = Digits.load();

    private DigitsTraining(ProcessGroup world, Options options) {
        this.world = world;
        this.options = options;
    }

    /**
     * Runs one rank; start it with {@code jccl run} or torchrun. Exits with 1 when the proof fails.
     *
     * @param args {@code --backend NAME} (gloo), {@code --epochs N} (30), {@code --batch N}, the
     *     number of images of all ranks in one step (64)
     */
    public static void main(String[] args) {
        Options options = Options.parse(args);
        Proof proof;
        try (ProcessGroup world = ProcessGroup.init(options.backend())) {
            proof = new DigitsTraining(world, options).run();
        }
        if (!proof.holds()) {
            System.exit(1);
        }
    }

    private Proof run() {
        Network network = new Network(SEED);
        try (AllReduceAverage average = new AllReduceAverage(world, network)) {
            train(network, average);
            report(average);
        }
        Proof proof = Proof.of(world, network, world.rank() == 0 ? trainAlone() : null);
        print(
                "weights are %s on all %d ranks",
                proof.sameOnAllRanks() ? "the same bits" : "NOT THE SAME", world.size());
        print(
                "largest difference from a run on one rank: %.1e (tolerance %.1e)",
                proof.difference(), Proof.TOLERANCE);
        print(proof.holds() ? "PASSED" : "FAILED");
        return proof;
    }

    private void train(Network network, AllReduceAverage average) {
        print(
                "%d images to train, %d to test, %d ranks, batches of %d",
                digits.train().size(), digits.test().size(), world.size(), options.batch());
        Trainer trainer =
                new Trainer(network, average, world.rank(), world.size(), options.batch(), SEED);
        for (int epoch = 1; epoch <= options.epochs(); epoch++) {
            double loss = sumOfRanks(trainer.epoch(digits.train())) / digits.train().size();
            if (world.rank() == 0) {
                print(
                        "epoch %2d  loss %.4f  test accuracy %.1f %%",
                        epoch, loss, 100 * network.accuracy(digits.test()));
            }
        }
    }

    private Network trainAlone() {
        Network network = new Network(SEED);
        Trainer trainer =
                new Trainer(network, GradientAverage.OF_ONE_RANK, 0, 1, options.batch(), SEED);
        for (int epoch = 0; epoch < options.epochs(); epoch++) {
            trainer.epoch(digits.train());
        }
        return network;
    }

    private double sumOfRanks(double value) {
        try (Tensor tensor = Tensor.copyOf(new double[] {value})) {
            world.sync().allReduce(tensor, ReduceOp.SUM);
            return tensor.copyTo(new double[1])[0];
        }
    }

    private void report(AllReduceAverage average) {
        double[] mine = {seconds(average.inOperations()), seconds(average.waited())};
        try (Tensor input = Tensor.copyOf(mine);
                Tensor output = Tensor.copyOf(new double[mine.length * world.size()])) {
            world.sync().allGatherSingle(output, input);
            double[] all = output.copyTo(new double[mine.length * world.size()]);
            for (int rank = 0; rank < world.size(); rank++) {
                print(
                        "rank %d: all-reduces ran %.2f s, waited %.2f s for them",
                        rank, all[2 * rank], all[2 * rank + 1]);
            }
        }
    }

    private static double seconds(Duration duration) {
        return duration.toNanos() / 1e9;
    }

    /** One rank speaks for all. */
    private void print(String format, Object... values) {
        if (world.rank() == 0) {
            System.out.println(String.format(Locale.ROOT, format, values));
        }
    }
}
