package org.jccl.examples.djl;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Activation;
import ai.djl.nn.Blocks;
import ai.djl.nn.Parameter;
import ai.djl.nn.SequentialBlock;
import ai.djl.nn.convolutional.Conv2d;
import ai.djl.nn.core.Linear;
import ai.djl.nn.pooling.Pool;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.EasyTrain;
import ai.djl.training.Trainer;
import ai.djl.training.dataset.ArrayDataset;
import ai.djl.training.dataset.BatchSampler;
import ai.djl.training.dataset.Sampler;
import ai.djl.training.listener.TrainingListener;
import ai.djl.training.listener.TrainingListenerAdapter;
import ai.djl.training.loss.Loss;
import ai.djl.training.optimizer.Optimizer;
import ai.djl.training.tracker.Tracker;
import java.util.Arrays;
import java.util.Locale;
import org.jccl.ProcessGroup;
import org.jccl.djl.DistributedTrainer;
import org.jccl.djl.ShardedSampler;
import org.jccl.examples.Digits;
import org.jccl.examples.Weights;
import org.jccl.training.DistributedSampler;

/**
 * Trains a small convolutional network on handwritten digits with DJL, on several ranks. Compared
 * with one rank, only the trainer and the sampler differ; DJL's own loop runs unchanged. At the end
 * the program proves that all ranks have the same weights, bit by bit, and that these equal those
 * of a run on one rank, up to rounding.
 */
public final class ConvNetTraining {

    private static final int SIDE = 8;

    /** Images of all ranks in one step. */
    private static final int BATCH = 64;

    /**
     * The effect of rounding: ranks add up the samples of a batch in another order than one rank.
     * Measured with 2 and 4 ranks and 5 epochs: 1e-6 at most. Leaving out one rank's gradients in
     * one step makes it more than 1e-3.
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
     * @throws Exception if training fails
     */
    public static void main(String[] args) throws Exception {
        int epochs = args.length > 0 ? Integer.parseInt(args[0]) : 10;
        boolean passed;
        try (ProcessGroup world = ProcessGroup.init("gloo")) {
            passed = new ConvNetTraining(epochs).run(world);
        }
        if (!passed) {
            System.exit(1);
        }
    }

    private boolean run(ProcessGroup world) throws Exception {
        Engine.getInstance().setRandomSeed(1 + world.rank());
        float[] trained;
        try (Model model = model();
                Trainer trainer = new DistributedTrainer(model, config(world.rank() == 0), world)) {
            trainer.initialize(new Shape(1, 1, SIDE, SIDE));
            int batch = BATCH / world.size();
            EasyTrain.fit(trainer, epochs, data(trainer, new ShardedSampler(world, batch)), null);
            trained = weights(model);
            if (world.rank() == 0) {
                print("%d epochs, test accuracy %.1f %%", epochs, 100 * accuracy(trainer));
            }
        }
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
            print("largest difference from a run on one rank: %.1e", difference);
            print(passed ? "PASSED" : "FAILED");
        }
        return passed;
    }

    private float[] trainedAlone() throws Exception {
        print("the same on one rank, to compare");
        Engine.getInstance().setRandomSeed(1);
        try (Model model = model();
                Trainer trainer = model.newTrainer(config(true))) {
            trainer.initialize(new Shape(1, 1, SIDE, SIDE));
            EasyTrain.fit(trainer, epochs, data(trainer, inTheOrderOfAllRanks()), null);
            return weights(model);
        }
    }

    private static Model model() {
        Model model = Model.newInstance("digits", Device.cpu());
        model.setBlock(
                new SequentialBlock()
                        .add(
                                Conv2d.builder()
                                        .setKernelShape(new Shape(3, 3))
                                        .optPadding(new Shape(1, 1))
                                        .setFilters(16)
                                        .build())
                        .add(Activation::relu)
                        .add(Pool.avgPool2dBlock(new Shape(2, 2), new Shape(2, 2)))
                        .add(Blocks.batchFlattenBlock())
                        .add(Linear.builder().setUnits(Digits.CLASSES).build()));
        return model;
    }

    private DefaultTrainingConfig config(boolean prints) {
        TrainingListener printer =
                new TrainingListenerAdapter() {
                    private int epoch;

                    @Override
                    public void onEpoch(Trainer trainer) {
                        if (prints) {
                            print("epoch %d of %d", ++epoch, epochs);
                        }
                    }
                };
        return new DefaultTrainingConfig(Loss.softmaxCrossEntropyLoss())
                .optDevices(new Device[] {Device.cpu()})
                .addTrainingListeners(printer)
                .optOptimizer(Optimizer.sgd().setLearningRateTracker(Tracker.fixed(0.2f)).build());
    }

    private ArrayDataset data(Trainer trainer, Sampler sampler) {
        NDManager manager = trainer.getManager();
        int[] all = new int[images];
        Arrays.setAll(all, i -> i);
        Digits some = digits.train().select(all, 0, images);
        return new ArrayDataset.Builder()
                .setData(pixels(manager, some))
                .optLabels(manager.create(some.labels()))
                .setSampling(sampler)
                .build();
    }

    private static NDArray pixels(NDManager manager, Digits some) {
        return manager.create(some.images()).reshape(some.size(), 1, SIDE, SIDE);
    }

    /** What one rank has to read to take the samples of all. */
    private Sampler inTheOrderOfAllRanks() {
        int[] epoch = {0};
        return new BatchSampler(
                dataset ->
                        Arrays.stream(
                                        new DistributedSampler(images, 1, 0, true, 0, false)
                                                .indices(epoch[0]++))
                                .asLongStream()
                                .iterator(),
                BATCH);
    }

    private double accuracy(Trainer trainer) {
        try (NDManager manager = trainer.getManager().newSubManager()) {
            NDArray images = pixels(manager, digits.test());
            NDArray answers = trainer.evaluate(new NDList(images)).singletonOrThrow().argMax(1);
            long[] found = answers.toLongArray();
            int right = 0;
            for (int i = 0; i < found.length; i++) {
                right += found[i] == digits.test().labels()[i] ? 1 : 0;
            }
            return (double) right / found.length;
        }
    }

    private static float[] weights(Model model) {
        float[] all = {};
        for (Parameter parameter : model.getBlock().getParameters().values()) {
            float[] some = parameter.getArray().toFloatArray();
            int before = all.length;
            all = Arrays.copyOf(all, before + some.length);
            System.arraycopy(some, 0, all, before, some.length);
        }
        return all;
    }

    private static void print(String format, Object... values) {
        System.out.println(String.format(Locale.ROOT, format, values));
    }
}
