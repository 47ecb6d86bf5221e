package org.jccl.examples;

import java.util.Arrays;
import java.util.Locale;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.training.DeviceMesh;

/**
 * Tensor-parallel training combined with data parallelism. The ranks of a "tp" group share each
 * layer. The first layer is divided by its outputs (columns, as PyTorch calls it) and needs no
 * communication. The second one is divided by its inputs (rows), so that each rank has a part of
 * every sum, and one all-reduce adds them up. The ranks of a "dp" group have the same part of the
 * layers and average its gradients.
 *
 * <p>At the end the parts are put together and compared with a network that one rank trained.
 */
public final class TensorParallel {

    private static final long SEED = 7;
    private static final int BATCH = 64;
    private static final float LEARNING_RATE = 0.5f;

    private final ProcessGroup tensorGroup;
    private final ProcessGroup dataGroup;

    /** This rank's outputs of the first layer, and its inputs of the second. */
    private final int from;

    private final Layer columns;
    private final Layer rows;

    private TensorParallel(DeviceMesh mesh, Network whole) {
        tensorGroup = mesh.group("tp");
        dataGroup = mesh.group("dp");
        Layer hidden = whole.layers().get(0);
        Layer output = whole.layers().get(1);
        int width = hidden.outputs / tensorGroup.size();
        from = width * tensorGroup.rank();
        columns = new Layer(hidden.inputs, width);
        rows = new Layer(width, output.outputs);
        copyParts(hidden, output, true);
    }

    /**
     * Runs one rank; start it with {@code jccl run} or torchrun, with 1 rank or an even number of
     * them. Exits with 1 if the network differs from that of a single rank.
     *
     * @param args the number of epochs (10)
     */
    public static void main(String[] args) {
        int epochs = args.length > 0 ? Integer.parseInt(args[0]) : 10;
        Digits.Split digits = Digits.load();
        Network network = new Network(SEED);
        Proof proof;
        try (ProcessGroup world = ProcessGroup.init("gloo")) {
            int shared = world.size() == 1 ? 1 : 2;
            try (DeviceMesh mesh =
                    DeviceMesh.of(world, new int[] {world.size() / shared, shared}, "dp", "tp")) {
                TensorParallel training = new TensorParallel(mesh, network);
                for (int epoch = 0; epoch < epochs; epoch++) {
                    training.epoch(digits.train());
                }
                training.gather(network);
            }
            proof = Proof.of(world, network, world.rank() == 0 ? alone(digits, epochs) : null);
            if (world.rank() == 0) {
                System.out.println(
                        String.format(
                                Locale.ROOT,
                                "test accuracy %.1f %%, weights differ by %.1e from one rank's",
                                100 * network.accuracy(digits.test()),
                                proof.difference()));
                System.out.println(proof.holds() ? "PASSED" : "FAILED");
            }
        }
        if (!proof.holds()) {
            System.exit(1);
        }
    }

    private static Network alone(Digits.Split digits, int epochs) {
        Network network = new Network(SEED);
        int size = digits.train().size();
        for (int epoch = 0; epoch < epochs; epoch++) {
            for (int at = 0; at < size; at += BATCH) {
                Digits batch = part(digits.train(), at, Math.min(at + BATCH, size));
                network.computeGradients(batch, 1f / batch.size(), layer -> {});
                network.layers().forEach(TensorParallel::descend);
            }
        }
        return network;
    }

    private static Digits part(Digits digits, int from, int to) {
        return new Digits(
                Arrays.copyOfRange(digits.images(), from, to),
                Arrays.copyOfRange(digits.labels(), from, to));
    }

    private static void descend(Layer layer) {
        for (int i = 0; i < layer.weights.length; i++) {
            layer.weights[i] -= LEARNING_RATE * layer.gradient[i];
        }
    }

    private void epoch(Digits digits) {
        for (int at = 0; at < digits.size(); at += BATCH) {
            int size = Math.min(BATCH, digits.size() - at);
            int first = at + size * dataGroup.rank() / dataGroup.size();
            int end = at + size * (dataGroup.rank() + 1) / dataGroup.size();
            step(part(digits, first, end), 1f / size);
        }
    }

    private void step(Digits batch, float weight) {
        Arrays.fill(columns.gradient, 0);
        Arrays.fill(rows.gradient, 0);
        float[][] hidden = new float[batch.size()][];
        float[] scores = new float[batch.size() * rows.outputs];
        for (int i = 0; i < batch.size(); i++) {
            hidden[i] = Network.tanh(columns.forward(batch.images()[i]));
            System.arraycopy(rows.forward(hidden[i]), 0, scores, i * rows.outputs, rows.outputs);
        }
        scores = sum(tensorGroup, scores);
        for (int i = 0; i < batch.size(); i++) {
            float[] byOutput =
                    Network.softmax(
                            Arrays.copyOfRange(scores, i * rows.outputs, (i + 1) * rows.outputs));
            byOutput[batch.labels()[i]] -= 1;
            Network.scale(byOutput, weight);
            rows.addGradient(hidden[i], byOutput);
            // Each rank has all derivatives of its part of the hidden layer. With a layer before
            // it,
            // an all-reduce would also add up the derivatives by the inputs.
            float[] byHidden = Network.beforeTanh(rows.backward(byOutput), hidden[i]);
            columns.addGradient(batch.images()[i], byHidden);
        }
        for (Layer layer : new Layer[] {columns, rows}) {
            float[] gradient = sum(dataGroup, layer.gradient);
            System.arraycopy(gradient, 0, layer.gradient, 0, gradient.length);
        }
        if (!hasBias()) {
            for (int row = 0; row < rows.outputs; row++) {
                rows.gradient[(row + 1) * (rows.inputs + 1) - 1] = 0;
            }
        }
        descend(columns);
        descend(rows);
    }

    /** One rank adds the second layer's bias, or it would count twice. */
    private boolean hasBias() {
        return tensorGroup.rank() == 0;
    }

    private static float[] sum(ProcessGroup group, float[] values) {
        try (Tensor tensor = Tensor.copyOf(values)) {
            group.sync().allReduce(tensor, ReduceOp.SUM);
            return tensor.copyTo(new float[values.length]);
        }
    }

    /** Adds up what the ranks of a tensor-parallel group have: zeros but for their part. */
    private void gather(Network whole) {
        for (Layer layer : whole.layers()) {
            Arrays.fill(layer.weights, 0);
        }
        copyParts(whole.layers().get(0), whole.layers().get(1), false);
        for (Layer layer : whole.layers()) {
            float[] weights = sum(tensorGroup, layer.weights);
            System.arraycopy(weights, 0, layer.weights, 0, weights.length);
        }
    }

    /** Between the whole layers and this rank's parts of them. */
    private void copyParts(Layer hidden, Layer output, boolean fromWhole) {
        int row = hidden.inputs + 1;
        copy(hidden.weights, from * row, columns.weights, 0, columns.weights.length, fromWhole);
        for (int i = 0; i < rows.outputs; i++) {
            int whole = i * (output.inputs + 1);
            int part = i * (rows.inputs + 1);
            copy(output.weights, whole + from, rows.weights, part, rows.inputs, fromWhole);
            if (hasBias()) {
                copy(
                        output.weights,
                        whole + output.inputs,
                        rows.weights,
                        part + rows.inputs,
                        1,
                        fromWhole);
            }
        }
    }

    private static void copy(
            float[] whole, int wholeAt, float[] part, int partAt, int count, boolean fromWhole) {
        if (fromWhole) {
            System.arraycopy(whole, wholeAt, part, partAt, count);
        } else {
            System.arraycopy(part, partAt, whole, wholeAt, count);
        }
    }
}
