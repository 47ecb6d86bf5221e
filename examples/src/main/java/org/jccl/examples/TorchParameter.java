package org.jccl.examples;

import java.util.List;
import java.util.stream.LongStream;

/**
 * A parameter in the form of PyTorch's {@code Linear}: the weights of a layer, with one row for
 * each output, or its biases. {@link Layer} has both in one array, with a bias after each row.
 *
 * @param layer the layer of the parameter
 * @param bias whether the parameter is the biases
 */
record TorchParameter(Layer layer, boolean bias) {

    /** The parameters of a network, in the order of {@code model.parameters()}. */
    static List<TorchParameter> of(Network network) {
        return network.layers().stream()
                .flatMap(
                        layer ->
                                List.of(
                                        new TorchParameter(layer, false),
                                        new TorchParameter(layer, true))
                                        .stream())
                .toList();
    }

    int count() {
        return bias ? layer.outputs : layer.outputs * layer.inputs;
    }

    /** Each dimension's size, followed by each dimension's stride. */
    LongStream sizesAndStrides() {
        return bias
                ? LongStream.of(layer.outputs, 1)
                : LongStream.of(layer.outputs, layer.inputs, layer.inputs, 1);
    }

    void setWeights(float[] values, int offset) {
        for (int i = 0; i < count(); i++) {
            layer.weights[index(i)] = values[offset + i];
        }
    }

    void getWeights(float[] values, int offset) {
        for (int i = 0; i < count(); i++) {
            values[offset + i] = layer.weights[index(i)];
        }
    }

    void setGradient(float[] values, int offset) {
        for (int i = 0; i < count(); i++) {
            layer.gradient[index(i)] = values[offset + i];
        }
    }

    void getGradient(float[] values, int offset) {
        for (int i = 0; i < count(); i++) {
            values[offset + i] = layer.gradient[index(i)];
        }
    }

    private int index(int element) {
        int row = layer.inputs + 1;
        return bias
                ? element * row + layer.inputs
                : element / layer.inputs * row + element % layer.inputs;
    }
}
