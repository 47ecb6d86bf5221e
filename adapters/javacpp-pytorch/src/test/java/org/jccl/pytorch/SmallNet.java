package org.jccl.pytorch;

import static org.bytedeco.pytorch.global.torch.cross_entropy_loss;
import static org.bytedeco.pytorch.global.torch.manual_seed;
import static org.bytedeco.pytorch.global.torch.randn;
import static org.bytedeco.pytorch.global.torch.relu;

import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.bytedeco.javacpp.LongPointer;
import org.bytedeco.pytorch.BatchNorm1dImpl;
import org.bytedeco.pytorch.BatchNormOptions;
import org.bytedeco.pytorch.Conv2dImpl;
import org.bytedeco.pytorch.Conv2dOptions;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.LongOptional;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch.ScalarType;

/** A network with all that models have: convolution, layers, buffers, a frozen parameter. */
final class SmallNet extends Module {

    static final int INPUTS = 16;
    static final int CLASSES = 3;

    /** PyTorch's generator is one for all threads. */
    private static final Object RANDOM = new Object();

    private final Conv2dImpl conv;
    final LinearImpl hidden;
    final BatchNorm1dImpl norm;
    private final LinearImpl output;
    final Tensor frozen;

    private SmallNet(int hiddenSize) {
        conv =
                register_module(
                        "conv", new Conv2dImpl(new Conv2dOptions(1, 2, new LongPointer(3, 3))));
        hidden = register_module("hidden", new LinearImpl(8, hiddenSize));
        norm = register_module("norm", new BatchNorm1dImpl(new BatchNormOptions(hiddenSize)));
        output = register_module("output", new LinearImpl(hiddenSize, CLASSES));
        frozen = register_parameter("frozen", randn(4), false);
    }

    static SmallNet seeded(long seed) {
        return seeded(seed, 10);
    }

    static SmallNet seeded(long seed, int hiddenSize) {
        synchronized (RANDOM) {
            manual_seed(seed);
            return new SmallNet(hiddenSize);
        }
    }

    /** Samples with labels that can be learned; the same for the same seed. */
    static Tensor[] batch(long seed, int size) {
        synchronized (RANDOM) {
            manual_seed(seed);
            Tensor x = randn(size, INPUTS);
            Tensor y = x.narrow(1, 0, CLASSES).argmax(new LongOptional(1), false);
            return new Tensor[] {x, y.to(ScalarType.Long)};
        }
    }

    /** Without the norm, whose statistics are each rank's own. */
    Tensor loss(Tensor[] batch) {
        return cross_entropy_loss(logits(batch[0], false), batch[1]);
    }

    /** The same in units. */
    Tensor loss(Tensor[] batch, Units units) {
        return cross_entropy_loss(logits(batch[0], false, units), batch[1]);
    }

    Tensor logits(Tensor x, boolean normalized) {
        return logits(x, normalized, (unit, forward) -> forward.get());
    }

    /** How a unit runs. */
    interface Units {
        Tensor run(String unit, Supplier<Tensor> forward);
    }

    Tensor logits(Tensor x, boolean normalized, Units units) {
        return logits(
                x,
                inside ->
                        normalized
                                ? norm.forward(inside)
                                : inside.mul(norm.weight()).add(norm.bias()),
                units);
    }

    Tensor logits(Tensor x, UnaryOperator<Tensor> normalize, Units units) {
        Tensor image = x.view(x.size(0), 1, 4, 4);
        Tensor filtered = units.run("conv", () -> relu(conv.forward(image)));
        Tensor inside = units.run("hidden", () -> hidden.forward(filtered.view(x.size(0), 8)));
        Tensor one = units.run("norm", () -> normalize.apply(inside));
        return units.run("output", () -> output.forward(relu(one)));
    }

    /** Parameters, one after the other. */
    static float[] weights(Module module) {
        TensorVector parameters = module.parameters();
        int count = 0;
        for (long i = 0; i < parameters.size(); i++) {
            count += (int) parameters.get(i).numel();
        }
        float[] all = new float[count];
        int at = 0;
        for (long i = 0; i < parameters.size(); i++) {
            float[] some = values(parameters.get(i));
            System.arraycopy(some, 0, all, at, some.length);
            at += some.length;
        }
        return all;
    }

    static float[] values(Tensor tensor) {
        return TorchTensors.of(tensor).copyTo(new float[(int) tensor.numel()]);
    }
}
