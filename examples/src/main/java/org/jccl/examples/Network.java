package org.jccl.examples;

import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.Consumer;

/** 64 pixels, a hidden layer with tanh, 10 classes with softmax and cross-entropy loss. */
final class Network {

    private static final int HIDDEN = 64;

    private final Layer hidden;
    private final Layer output;

    /** The same seed gives the same weights on every rank. */
    Network(long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        hidden = new Layer(Digits.PIXELS, HIDDEN, random);
        output = new Layer(HIDDEN, Digits.CLASSES, random);
    }

    List<Layer> layers() {
        return List.of(hidden, output);
    }

    /**
     * Computes the gradients of the loss, from the last layer to the first.
     *
     * @param batch the samples
     * @param weight the weight of each sample's loss in the gradient
     * @param ready called as soon as a layer's gradient is complete, before those of other layers
     * @return the sum of the samples' losses
     */
    double computeGradients(Digits batch, float weight, Consumer<Layer> ready) {
        double loss = 0;
        float[][] activations = new float[batch.size()][];
        float[][] byOutput = new float[batch.size()][];
        Arrays.fill(output.gradient, 0);
        for (int i = 0; i < batch.size(); i++) {
            activations[i] = hiddenActivations(batch.images()[i]);
            byOutput[i] = softmax(output.forward(activations[i]));
            loss -= Math.log(byOutput[i][batch.labels()[i]]);
            byOutput[i][batch.labels()[i]] -= 1;
            scale(byOutput[i], weight);
            output.addGradient(activations[i], byOutput[i]);
        }
        ready.accept(output);

        Arrays.fill(hidden.gradient, 0);
        for (int i = 0; i < batch.size(); i++) {
            float[] byHidden = beforeTanh(output.backward(byOutput[i]), activations[i]);
            hidden.addGradient(batch.images()[i], byHidden);
        }
        ready.accept(hidden);
        return loss;
    }

    /** Part of the images that are recognised, 0 to 1. */
    double accuracy(Digits digits) {
        int right = 0;
        for (int i = 0; i < digits.size(); i++) {
            float[] scores = output.forward(hiddenActivations(digits.images()[i]));
            int best = 0;
            for (int j = 1; j < scores.length; j++) {
                best = scores[j] > scores[best] ? j : best;
            }
            right += best == digits.labels()[i] ? 1 : 0;
        }
        return (double) right / digits.size();
    }

    private float[] hiddenActivations(float[] image) {
        return tanh(hidden.forward(image));
    }

    /** Changes the values in place. */
    static float[] tanh(float[] values) {
        for (int i = 0; i < values.length; i++) {
            values[i] = (float) Math.tanh(values[i]);
        }
        return values;
    }

    /** Makes derivatives by tanh's results those by its arguments, in place. */
    static float[] beforeTanh(float[] derivatives, float[] results) {
        for (int i = 0; i < derivatives.length; i++) {
            derivatives[i] *= 1 - results[i] * results[i];
        }
        return derivatives;
    }

    /** Changes the scores in place. */
    static float[] softmax(float[] scores) {
        float largest = scores[0];
        for (float score : scores) {
            largest = Math.max(largest, score);
        }
        float sum = 0;
        for (int i = 0; i < scores.length; i++) {
            scores[i] = (float) Math.exp(scores[i] - largest);
            sum += scores[i];
        }
        scale(scores, 1 / sum);
        return scores;
    }

    static void scale(float[] values, float factor) {
        for (int i = 0; i < values.length; i++) {
            values[i] *= factor;
        }
    }
}
