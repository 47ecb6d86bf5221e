package org.jccl.examples;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;
import org.jccl.Batch;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.Work;

/**
 * Pipeline-parallel training: each rank has one layer, and a batch goes through the ranks in
 * pieces, so that all of them work at the same time. The order is 1F1B: a rank first takes as many
 * pieces forward as there are ranks after it, and then alternates one forward and one backward
 * pass, so that it retains the activations of few pieces.
 *
 * <p>A rank that sends forward and receives backward at the same time does both as one batch.
 * Otherwise two neighbours would wait for each other without end if the library, like NCCL, runs
 * operations one after another.
 */
public final class Pipeline {

    private static final long SEED = 7;
    private static final int WIDTH = 32;
    private static final int PIECE = 8;
    private static final int PIECES = 8;
    private static final int IMAGES = 1024;
    private static final float LEARNING_RATE = 0.2f;
    private static final int TAG = 0;

    /** Some layers, and what they keep of each piece until it comes back. */
    private static final class Stage {

        private final List<Layer> layers;
        private final Deque<List<float[][]>> kept = new ArrayDeque<>();

        Stage(List<Layer> layers) {
            this.layers = layers;
        }

        /**
         * What the layers make of a piece; tanh comes before each layer but the network's first.
         */
        float[][] forward(float[][] piece) {
            List<float[][]> inputs = new ArrayList<>();
            float[][] values = piece;
            for (Layer layer : layers) {
                float[][] input = values;
                inputs.add(input);
                values = Arrays.stream(input).map(layer::forward).toArray(float[][]::new);
                if (layer.outputs == WIDTH) {
                    values = Arrays.stream(values).map(Network::tanh).toArray(float[][]::new);
                }
            }
            inputs.add(values);
            kept.add(inputs);
            return values;
        }

        /** Adds the gradients of the piece that went forward first, and returns its derivatives. */
        float[][] backward(float[][] byOutputs) {
            List<float[][]> inputs = kept.remove();
            float[][] derivatives = byOutputs;
            for (int i = layers.size() - 1; i >= 0; i--) {
                Layer layer = layers.get(i);
                float[][] byInputs = new float[derivatives.length][];
                for (int image = 0; image < byInputs.length; image++) {
                    float[] byOutput = derivatives[image];
                    if (layer.outputs == WIDTH) {
                        byOutput = Network.beforeTanh(byOutput, inputs.get(i + 1)[image]);
                    }
                    layer.addGradient(inputs.get(i)[image], byOutput);
                    byInputs[image] = layer.backward(byOutput);
                }
                derivatives = byInputs;
            }
            return derivatives;
        }

        void descend() {
            for (Layer layer : layers) {
                for (int i = 0; i < layer.weights.length; i++) {
                    layer.weights[i] -= LEARNING_RATE * layer.gradient[i];
                }
                Arrays.fill(layer.gradient, 0);
            }
        }
    }

    private final ProcessGroup world;
    private final int rank;
    private final Stage stage;

    /**
     * What goes forward to the next rank, and what comes back from it; null where there is none.
     */
    private final Tensor toNext;

    private final Tensor fromNext;
    private final Tensor toPrevious;
    private final Tensor fromPrevious;
    private Digits batch;
    private int nextForward;
    private int nextBackward;

    private Pipeline(ProcessGroup world, Stage stage) {
        this.world = world;
        this.rank = world.rank();
        this.stage = stage;
        toNext = isLast() ? null : Tensor.copyOf(new float[PIECE * WIDTH]);
        fromNext = isLast() ? null : Tensor.copyOf(new float[PIECE * WIDTH]);
        toPrevious = isFirst() ? null : Tensor.copyOf(new float[PIECE * WIDTH]);
        fromPrevious = isFirst() ? null : Tensor.copyOf(new float[PIECE * WIDTH]);
    }

    /**
     * Runs one rank, which has one layer; start it with {@code jccl run} or torchrun. Exits with 1
     * if the weights differ in any bit from those of a single rank.
     *
     * @param args the number of epochs (5)
     */
    public static void main(String[] args) {
        int epochs = args.length > 0 ? Integer.parseInt(args[0]) : 5;
        Digits digits = Digits.load().train();
        boolean same;
        try (ProcessGroup world = ProcessGroup.init("gloo")) {
            Layer mine = layers(world.size()).get(world.rank());
            Pipeline pipeline = new Pipeline(world, new Stage(List.of(mine)));
            Stage alone = new Stage(layers(world.size()));
            for (int at = 0; at < epochs * IMAGES; at += PIECES * PIECE) {
                int from = at % IMAGES;
                Digits batch =
                        new Digits(
                                Arrays.copyOfRange(digits.images(), from, from + PIECES * PIECE),
                                Arrays.copyOfRange(digits.labels(), from, from + PIECES * PIECE));
                pipeline.step(batch);
                stepAlone(alone, batch);
            }
            float[] expected = alone.layers.get(world.rank()).weights;
            same = world.size() == countTrue(world, Arrays.equals(mine.weights, expected));
            if (world.rank() == 0) {
                System.out.println(
                        String.format(
                                Locale.ROOT,
                                "%d stages, %d pieces a batch, weights are %s as one rank's",
                                world.size(),
                                PIECES,
                                same ? "the same bits" : "NOT THE SAME"));
                System.out.println(same ? "PASSED" : "FAILED");
            }
        }
        if (!same) {
            System.exit(1);
        }
    }

    private static int countTrue(ProcessGroup world, boolean value) {
        try (Tensor sum = Tensor.copyOf(new int[] {value ? 1 : 0})) {
            world.sync().allReduce(sum, ReduceOp.SUM);
            return sum.copyTo(new int[1])[0];
        }
    }

    private static List<Layer> layers(int count) {
        SplittableRandom random = new SplittableRandom(SEED);
        List<Layer> layers = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            layers.add(
                    new Layer(
                            i == 0 ? Digits.PIXELS : WIDTH,
                            i == count - 1 ? Digits.CLASSES : WIDTH,
                            random));
        }
        return layers;
    }

    private static void stepAlone(Stage all, Digits batch) {
        for (int piece = 0; piece < PIECES; piece++) {
            all.backward(byScores(all.forward(images(batch, piece)), batch, piece));
        }
        all.descend();
    }

    private static float[][] images(Digits batch, int piece) {
        return Arrays.copyOfRange(batch.images(), piece * PIECE, (piece + 1) * PIECE);
    }

    /** The loss's derivatives by the scores of a piece. */
    private static float[][] byScores(float[][] scores, Digits batch, int piece) {
        float[][] derivatives = new float[scores.length][];
        for (int i = 0; i < scores.length; i++) {
            derivatives[i] = Network.softmax(scores[i].clone());
            derivatives[i][batch.labels()[piece * PIECE + i]] -= 1;
            Network.scale(derivatives[i], 1f / batch.size());
        }
        return derivatives;
    }

    private boolean isFirst() {
        return rank == 0;
    }

    private boolean isLast() {
        return rank == world.size() - 1;
    }

    private void step(Digits images) {
        batch = images;
        nextForward = 0;
        nextBackward = 0;
        int ahead = Math.min(PIECES, world.size() - 1 - rank);
        for (int i = 0; i < ahead; i++) {
            float[][] output = stage.forward(receiveForward());
            send(output, toNext, rank + 1);
        }
        float[][] input = ahead < PIECES ? receiveForward() : null;
        for (int i = ahead; i < PIECES; i++) {
            float[][] derivatives = sendForwardReceiveBackward(stage.forward(input));
            float[][] byInputs = stage.backward(derivatives);
            if (i < PIECES - 1) {
                input = sendBackwardReceiveForward(byInputs);
            } else {
                send(byInputs, toPrevious, rank - 1);
            }
        }
        for (int i = 0; i < ahead; i++) {
            send(stage.backward(receive(fromNext, rank + 1)), toPrevious, rank - 1);
        }
        stage.descend();
    }

    private float[][] receiveForward() {
        return isFirst() ? images(batch, nextForward++) : receive(fromPrevious, rank - 1);
    }

    private float[][] sendForwardReceiveBackward(float[][] output) {
        if (isLast()) {
            return byScores(output, batch, nextBackward++);
        }
        exchange(output, toNext, fromNext, rank + 1);
        return rows(fromNext);
    }

    private float[][] sendBackwardReceiveForward(float[][] byInputs) {
        if (isFirst()) {
            return images(batch, nextForward++);
        }
        exchange(byInputs, toPrevious, fromPrevious, rank - 1);
        return rows(fromPrevious);
    }

    private void exchange(float[][] values, Tensor out, Tensor in, int peer) {
        Batch both = world.batch();
        both.send(out.copyFrom(flat(values)), peer, TAG).recv(in, peer, TAG);
        both.issue().forEach(Work::await);
    }

    private void send(float[][] values, Tensor tensor, int peer) {
        if (tensor != null) {
            world.sync().send(tensor.copyFrom(flat(values)), peer, TAG);
        }
    }

    private float[][] receive(Tensor tensor, int peer) {
        world.sync().recv(tensor, peer, TAG);
        return rows(tensor);
    }

    private static float[] flat(float[][] values) {
        float[] flat = new float[PIECE * WIDTH];
        for (int i = 0; i < PIECE; i++) {
            System.arraycopy(values[i], 0, flat, i * WIDTH, WIDTH);
        }
        return flat;
    }

    private static float[][] rows(Tensor tensor) {
        float[] flat = tensor.copyTo(new float[PIECE * WIDTH]);
        float[][] rows = new float[PIECE][];
        for (int i = 0; i < PIECE; i++) {
            rows[i] = Arrays.copyOfRange(flat, i * WIDTH, (i + 1) * WIDTH);
        }
        return rows;
    }
}
