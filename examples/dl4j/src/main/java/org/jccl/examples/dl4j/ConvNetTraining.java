package org.jccl.examples.dl4j;

import java.util.Locale;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.PoolingType;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.jccl.ProcessGroup;
import org.jccl.examples.Digits;
import org.jccl.examples.Weights;
import org.jccl.training.DistributedSampler;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Sgd;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/**
 * Trains a small convolutional network on handwritten digits with DL4J, on several ranks. Compared
 * with one rank, there is a listener, and each rank takes its own samples. At the end the program
 * proves that all ranks have the same weights, bit by bit, and that these equal those of a run on
 * one rank, up to rounding.
 */
public final class ConvNetTraining {

    private static final int SIDE = 8;

    /** Images of all ranks in one step. */
    private static final int BATCH = 64;

    /**
     * The effect of rounding: ranks add up the samples of a batch in another order than one rank.
     * Measured with 2 and 4 ranks and 1 to 10 epochs: 9e-8 to 3e-7. The network has no function in
     * which rounding decides. With a rectifier, the difference is 2e-4.
     */
    private static final double TOLERANCE = 1e-5;

    private final Digits.Split digits = Digits.load();

    /** Whole batches only, so that one rank makes the same steps as several. */
    private final int images = digits.train().size() / BATCH * BATCH;

    private final int epochs;

    private ConvNetTraining(int epochs) {
        this.epochs = epochs;
    }

    /**
     * Runs one rank; start it with {@code jccl run} or torchrun. Exits with 1 if the proof fails.
     *
     * @param args the number of epochs, 10 by default
     */
    public static void main(String[] args) {
        int epochs = args.length > 0 ? Integer.parseInt(args[0]) : 10;
        boolean passed;
        try (ProcessGroup world = ProcessGroup.init("gloo")) {
            passed = new ConvNetTraining(epochs).run(world);
        }
        if (!passed) {
            System.exit(1);
        }
    }

    private boolean run(ProcessGroup world) {
        MultiLayerNetwork network = network(1 + world.rank());
        network.addListeners(new AveragingListener(world, network));
        train(network, world.rank(), world.size());
        float[] trained = network.params().toFloatVector();
        boolean same = Weights.areSameOnAllRanks(world, trained);
        double difference = world.rank() == 0 ? Weights.difference(trained, trainedAlone()) : 0;
        boolean passed = same && difference <= TOLERANCE;
        print(
                "rank %d: %d weights are %s on all %d ranks",
                world.rank(),
                trained.length,
                same ? "the same bits" : "NOT THE SAME",
                world.size());
        if (world.rank() == 0) {
            print("%d epochs, test accuracy %.1f %%", epochs, 100 * accuracy(network));
            print("largest difference from a run on one rank: %.1e", difference);
            print(passed ? "PASSED" : "FAILED");
        }
        return passed;
    }

    private float[] trainedAlone() {
        print("the same on one rank, to compare");
        MultiLayerNetwork network = network(1);
        train(network, 0, 1);
        return network.params().toFloatVector();
    }

    private static MultiLayerNetwork network(int seed) {
        MultiLayerConfiguration layers =
                new NeuralNetConfiguration.Builder()
                        .seed(seed)
                        .updater(new Sgd(0.2))
                        .list()
                        .layer(
                                new ConvolutionLayer.Builder(3, 3)
                                        .padding(1, 1)
                                        .nOut(16)
                                        .activation(Activation.TANH)
                                        .build())
                        .layer(
                                new SubsamplingLayer.Builder(PoolingType.AVG)
                                        .kernelSize(2, 2)
                                        .stride(2, 2)
                                        .build())
                        .layer(
                                new OutputLayer.Builder(LossFunction.MCXENT)
                                        .nOut(Digits.CLASSES)
                                        .activation(Activation.SOFTMAX)
                                        .build())
                        .setInputType(InputType.convolutional(SIDE, SIDE, 1))
                        .build();
        MultiLayerNetwork network = new MultiLayerNetwork(layers);
        network.init();
        return network;
    }

    private void train(MultiLayerNetwork network, int rank, int ranks) {
        int batch = BATCH / ranks;
        for (int epoch = 0; epoch < epochs; epoch++) {
            int[] mine = new DistributedSampler(images, ranks, rank, true, 0, false).indices(epoch);
            for (int from = 0; from < mine.length; from += batch) {
                network.fit(dataSet(digits.train().select(mine, from, from + batch)));
            }
            if (rank == 0) {
                print("epoch %d of %d", epoch + 1, epochs);
            }
        }
    }

    private static DataSet dataSet(Digits some) {
        INDArray labels = Nd4j.zeros(some.size(), Digits.CLASSES);
        for (int i = 0; i < some.size(); i++) {
            labels.putScalar(i, some.labels()[i], 1);
        }
        return new DataSet(pixels(some), labels);
    }

    private static INDArray pixels(Digits some) {
        return Nd4j.create(some.images()).reshape(some.size(), 1, SIDE, SIDE);
    }

    private double accuracy(MultiLayerNetwork network) {
        int[] found = network.output(pixels(digits.test())).argMax(1).toIntVector();
        int right = 0;
        for (int i = 0; i < found.length; i++) {
            right += found[i] == digits.test().labels()[i] ? 1 : 0;
        }
        return (double) right / found.length;
    }

    private static void print(String format, Object... values) {
        System.out.println(String.format(Locale.ROOT, format, values));
    }
}
