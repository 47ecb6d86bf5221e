package org.jccl.examples.djl;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Activation;
import ai.djl.nn.SequentialBlock;
import ai.djl.nn.core.Linear;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.EasyTrain;
import ai.djl.training.Trainer;
import ai.djl.training.dataset.Batch;
import ai.djl.training.loss.Loss;
import ai.djl.training.optimizer.Optimizer;
import ai.djl.training.tracker.Tracker;
import ai.djl.translate.Batchifier;
import java.util.Arrays;
import java.util.Locale;
import org.jccl.ProcessGroup;
import org.jccl.djl.DistributedTrainer;

/**
 * Measures a training step of DJL, alone or with other ranks; {@code script/bench/djl} compares the
 * two.
 */
public final class StepTime {

    private static final int INPUTS = 784;
    private static final int CLASSES = 10;
    private static final double MILLISECOND = 1e6;

    private StepTime() {}

    /**
     * Runs one process and prints the median time of a step in milliseconds.
     *
     * @param args {@code alone} or {@code ranks}, units of each of two hidden layers, samples of a
     *     batch of this process, number of steps, before which as many are not measured
     */
    public static void main(String[] args) {
        int units = Integer.parseInt(args[1]);
        int batch = Integer.parseInt(args[2]);
        int steps = Integer.parseInt(args[3]);
        if (args[0].equals("ranks")) {
            try (ProcessGroup world = ProcessGroup.init("gloo")) {
                measure(world, units, batch, steps);
            }
        } else {
            measure(null, units, batch, steps);
        }
    }

    private static void measure(ProcessGroup world, int units, int batch, int steps) {
        Engine.getInstance().setRandomSeed(1);
        DefaultTrainingConfig config =
                new DefaultTrainingConfig(Loss.softmaxCrossEntropyLoss())
                        .optDevices(new Device[] {Device.cpu()})
                        .optOptimizer(
                                Optimizer.sgd()
                                        .setLearningRateTracker(Tracker.fixed(0.01f))
                                        .build());
        try (Model model = Model.newInstance("steps", Device.cpu())) {
            model.setBlock(
                    new SequentialBlock()
                            .add(Linear.builder().setUnits(units).build())
                            .add(Activation::relu)
                            .add(Linear.builder().setUnits(units).build())
                            .add(Activation::relu)
                            .add(Linear.builder().setUnits(CLASSES).build()));
            try (Trainer trainer =
                    world == null
                            ? model.newTrainer(config)
                            : new DistributedTrainer(model, config, world)) {
                trainer.initialize(new Shape(batch, INPUTS));
                double[] times = new double[steps];
                // Java compiles meanwhile what a step calls.
                for (int i = -steps; i < steps; i++) {
                    double time = step(trainer, batch);
                    if (i >= 0) {
                        times[i] = time;
                    }
                }
                Arrays.sort(times);
                System.out.println(String.format(Locale.ROOT, "median %.3f ms", times[steps / 2]));
            }
        }
    }

    private static double step(Trainer trainer, int samples) {
        NDManager manager = trainer.getManager().newSubManager();
        NDList data = new NDList(manager.randomNormal(new Shape(samples, INPUTS)));
        NDList labels = new NDList(manager.zeros(new Shape(samples)));
        try (Batch batch =
                new Batch(
                        manager, data, labels, samples, Batchifier.STACK, Batchifier.STACK, 0, 1)) {
            long start = System.nanoTime();
            EasyTrain.trainBatch(trainer, batch);
            trainer.step();
            return (System.nanoTime() - start) / MILLISECOND;
        }
    }
}
