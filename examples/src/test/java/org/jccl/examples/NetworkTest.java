package org.jccl.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class NetworkTest {

    private static final int[] FIRST = IntStream.range(0, 64).toArray();

    private final Digits train = Digits.load().train();

    @Test
    void gradientsAreTheSlopesOfTheLoss() {
        Digits batch = train.select(FIRST, 0, 10);
        Network network = new Network(1);
        network.computeGradients(batch, 1, layer -> {});
        float step = 1e-2f;
        for (Layer layer : network.layers()) {
            float[] gradient = layer.gradient.clone();
            for (int i = 0; i < gradient.length; i += 7) {
                float weight = layer.weights[i];
                layer.weights[i] = weight + step;
                double above = network.computeGradients(batch, 1, ready -> {});
                layer.weights[i] = weight - step;
                double below = network.computeGradients(batch, 1, ready -> {});
                layer.weights[i] = weight;
                // The central difference is off by the square of the step and float rounding.
                assertThat((above - below) / (2 * step))
                        .as("weight %d of layer with %d outputs", i, layer.outputs)
                        .isCloseTo(gradient[i], within(2e-3));
            }
        }
    }

    @Test
    void averageOfTheRanksGradientsIsTheGradientOfTheBatch() {
        int ranks = 3;
        int size = FIRST.length;
        float[][] averages = {new float[64 * 65], new float[10 * 65]};
        for (int rank = 0; rank < ranks; rank++) {
            Digits part = train.select(FIRST, size * rank / ranks, size * (rank + 1) / ranks);
            Network network = new Network(1);
            network.computeGradients(part, (float) ranks / size, layer -> {});
            for (int number = 0; number < averages.length; number++) {
                float[] gradient = network.layers().get(number).gradient;
                for (int i = 0; i < gradient.length; i++) {
                    averages[number][i] += gradient[i] / ranks;
                }
            }
        }
        Network whole = new Network(1);
        whole.computeGradients(train.select(FIRST, 0, size), 1f / size, layer -> {});
        assertThat(whole.layers().get(0).gradient).containsExactly(averages[0], within(1e-6f));
        assertThat(whole.layers().get(1).gradient).containsExactly(averages[1], within(1e-6f));
    }

    @Test
    void layersAreReadyFromTheLastToTheFirst() {
        Network network = new Network(1);
        var ready = new java.util.ArrayList<Layer>();
        network.computeGradients(train.select(FIRST, 0, 1), 1, ready::add);
        assertThat(ready).containsExactly(network.layers().get(1), network.layers().get(0));
    }
}
