package org.jccl.examples;

import java.util.SplittableRandom;

/**
 * Trains one rank's copy of the network by gradient descent with momentum. All ranks see the images
 * in the same order, and each uses its own part of a batch.
 */
final class Trainer {

    private static final float LEARNING_RATE = 0.1f;
    private static final float MOMENTUM = 0.9f;

    private final Network network;
    private final GradientAverage average;
    private final int rank;
    private final int worldSize;
    private final int batchSize;
    private final SplittableRandom random;
    private final float[][] velocities;

    Trainer(
            Network network,
            GradientAverage average,
            int rank,
            int worldSize,
            int batchSize,
            long seed) {
        this.network = network;
        this.average = average;
        this.rank = rank;
        this.worldSize = worldSize;
        this.batchSize = batchSize;
        this.random = new SplittableRandom(seed);
        this.velocities =
                network.layers().stream()
                        .map(layer -> new float[layer.weights.length])
                        .toArray(float[][]::new);
    }

    /** Momentum of each layer's weights: with them, what a checkpoint must hold. */
    float[][] velocities() {
        return velocities;
    }

    /** Shuffles like the epochs of an earlier start of the program. */
    void skip(int epochs, Digits train) {
        for (int i = 0; i < epochs; i++) {
            shuffled(train.size());
        }
    }

    /** Goes through the images once, shuffled, and returns the sum of this rank's losses. */
    double epoch(Digits train) {
        return epoch(train, shuffled(train.size()));
    }

    /** Goes through the images once, in an order, and returns the sum of this rank's losses. */
    double epoch(Digits train, int[] order) {
        double loss = 0;
        for (int first = 0; first < order.length; first += batchSize) {
            int size = Math.min(batchSize, order.length - first);
            Digits mine =
                    train.select(
                            order,
                            first + size * rank / worldSize,
                            first + size * (rank + 1) / worldSize);
            // So that the average over ranks is the mean over the batch, also when the ranks'
            // parts differ in size.
            float weight = (float) worldSize / size;
            loss += network.computeGradients(mine, weight, average::start);
            average.finish();
            step();
        }
        return loss;
    }

    private void step() {
        int number = 0;
        for (Layer layer : network.layers()) {
            float[] velocity = velocities[number++];
            for (int i = 0; i < velocity.length; i++) {
                velocity[i] = MOMENTUM * velocity[i] + layer.gradient[i];
                layer.weights[i] -= LEARNING_RATE * velocity[i];
            }
        }
    }

    private int[] shuffled(int size) {
        int[] order = new int[size];
        for (int i = 0; i < size; i++) {
            int j = random.nextInt(i + 1);
            order[i] = order[j];
            order[j] = i;
        }
        return order;
    }
}
