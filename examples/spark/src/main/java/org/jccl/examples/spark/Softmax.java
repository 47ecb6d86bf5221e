package org.jccl.examples.spark;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.util.List;
import java.util.zip.CRC32;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.examples.Digits;
import org.jccl.training.GradientReducer;

/** A softmax classifier of digits, which one rank of several trains; knows nothing of Spark. */
final class Softmax {

    private static final int INPUTS = Digits.PIXELS + 1;
    private static final float LEARNING_RATE = 0.5f;
    private static final int BATCH = 32;

    /**
     * An image with its label.
     *
     * @param pixels its values
     * @param label the digit
     */
    record Image(float[] pixels, int label) {}

    private final float[] weights = new float[Digits.CLASSES * INPUTS];

    /**
     * Trains with the images of this rank; all ranks end with the same weights.
     *
     * @param world all ranks
     * @param mine this rank's images
     * @param epochs how often to go through them
     * @return the classifier
     */
    static Softmax train(ProcessGroup world, List<Image> mine, int epochs) {
        Softmax model = new Softmax();
        int images = least(world, mine.size()); // as many steps on every rank
        FloatBuffer gradient =
                ByteBuffer.allocateDirect(model.weights.length * Float.BYTES)
                        .order(ByteOrder.nativeOrder())
                        .asFloatBuffer();
        try (Tensor tensor = Tensor.of(gradient);
                GradientReducer reducer =
                        GradientReducer.builder(world).gradient("weights", tensor).build()) {
            for (int epoch = 1; epoch <= epochs; epoch++) {
                for (int first = 0; first + BATCH <= images; first += BATCH) {
                    model.computeGradient(mine.subList(first, first + BATCH), gradient);
                    reducer.ready(0);
                    reducer.finish(); // now it is the average over the ranks
                    model.step(gradient);
                }
                if (world.rank() == 0 && (epoch == 1 || epoch % 100 == 0)) {
                    System.out.println("epoch " + epoch + " of " + epochs);
                }
            }
        }
        return model;
    }

    private static int least(ProcessGroup world, int mine) {
        try (Tensor count = Tensor.copyOf(new int[] {mine})) {
            world.sync().allReduce(count, ReduceOp.MIN);
            return count.copyTo(new int[1])[0];
        }
    }

    private void computeGradient(List<Image> batch, FloatBuffer gradient) {
        for (int i = 0; i < weights.length; i++) {
            gradient.put(i, 0);
        }
        for (Image image : batch) {
            float[] byScore = probabilities(image);
            byScore[image.label()] -= 1;
            for (int c = 0; c < byScore.length; c++) {
                float factor = byScore[c] / batch.size();
                for (int i = 0; i < INPUTS; i++) {
                    int at = c * INPUTS + i;
                    gradient.put(at, gradient.get(at) + factor * input(image, i));
                }
            }
        }
    }

    private void step(FloatBuffer gradient) {
        for (int i = 0; i < weights.length; i++) {
            weights[i] -= LEARNING_RATE * gradient.get(i);
        }
    }

    private static float input(Image image, int number) {
        return number < Digits.PIXELS ? image.pixels()[number] : 1;
    }

    private float[] scores(Image image) {
        float[] scores = new float[Digits.CLASSES];
        for (int c = 0; c < scores.length; c++) {
            for (int i = 0; i < INPUTS; i++) {
                scores[c] += weights[c * INPUTS + i] * input(image, i);
            }
        }
        return scores;
    }

    private float[] probabilities(Image image) {
        float[] values = scores(image);
        float sum = 0;
        for (int c = 0; c < values.length; c++) {
            values[c] = (float) StrictMath.exp(values[c]);
            sum += values[c];
        }
        for (int c = 0; c < values.length; c++) {
            values[c] /= sum;
        }
        return values;
    }

    /** Part of the images that are recognised, 0 to 1. */
    double accuracy(Digits digits) {
        int right = 0;
        for (int i = 0; i < digits.size(); i++) {
            float[] scores = scores(new Image(digits.images()[i], digits.labels()[i]));
            int best = 0;
            for (int c = 1; c < scores.length; c++) {
                best = scores[c] > scores[best] ? c : best;
            }
            right += best == digits.labels()[i] ? 1 : 0;
        }
        return (double) right / digits.size();
    }

    /** What differs when one bit of a weight does. */
    String checksum() {
        ByteBuffer bytes = ByteBuffer.allocate(weights.length * Float.BYTES);
        bytes.asFloatBuffer().put(weights);
        CRC32 checksum = new CRC32();
        checksum.update(bytes.array());
        return String.format("%08x", checksum.getValue());
    }
}
