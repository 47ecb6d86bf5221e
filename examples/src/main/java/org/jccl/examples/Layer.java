package org.jccl.examples;

import java.util.SplittableRandom;

/**
 * A dense layer: each output is a weighted sum of the inputs plus a bias. Weights and gradients are
 * flat arrays with one row an output: its weights, then its bias.
 */
final class Layer {

    final int inputs;
    final int outputs;
    final float[] weights;
    final float[] gradient;

    /** All weights are 0. */
    Layer(int inputs, int outputs) {
        this.inputs = inputs;
        this.outputs = outputs;
        weights = new float[outputs * (inputs + 1)];
        gradient = new float[weights.length];
    }

    Layer(int inputs, int outputs, SplittableRandom random) {
        this(inputs, outputs);
        // Keeps the variance of what goes through the layer; biases start at 0.
        double range = Math.sqrt(6.0 / (inputs + outputs));
        for (int row = 0; row < outputs; row++) {
            for (int i = 0; i < inputs; i++) {
                weights[row * (inputs + 1) + i] = (float) random.nextDouble(-range, range);
            }
        }
    }

    float[] forward(float[] input) {
        float[] output = new float[outputs];
        for (int row = 0; row < outputs; row++) {
            int first = row * (inputs + 1);
            float sum = weights[first + inputs];
            for (int i = 0; i < inputs; i++) {
                sum += weights[first + i] * input[i];
            }
            output[row] = sum;
        }
        return output;
    }

    /** Adds one sample's part of the gradient, given the loss's derivative by each output. */
    void addGradient(float[] input, float[] byOutput) {
        for (int row = 0; row < outputs; row++) {
            int first = row * (inputs + 1);
            for (int i = 0; i < inputs; i++) {
                gradient[first + i] += byOutput[row] * input[i];
            }
            gradient[first + inputs] += byOutput[row];
        }
    }

    /** The loss's derivative by each input, given that by each output. */
    float[] backward(float[] byOutput) {
        float[] byInput = new float[inputs];
        for (int row = 0; row < outputs; row++) {
            int first = row * (inputs + 1);
            for (int i = 0; i < inputs; i++) {
                byInput[i] += weights[first + i] * byOutput[row];
            }
        }
        return byInput;
    }
}
