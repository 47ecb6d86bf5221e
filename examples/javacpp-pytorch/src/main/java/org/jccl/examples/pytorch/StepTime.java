package org.jccl.examples.pytorch;

import static org.bytedeco.pytorch.global.torch.cross_entropy_loss;
import static org.bytedeco.pytorch.global.torch.manual_seed;
import static org.bytedeco.pytorch.global.torch.randint;
import static org.bytedeco.pytorch.global.torch.randn;
import static org.bytedeco.pytorch.global.torch.relu;
import static org.bytedeco.pytorch.global.torch.set_num_threads;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.IntStream;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.jccl.ProcessGroup;
import org.jccl.pytorch.DistributedDataParallel;
import org.jccl.pytorch.TorchLibrary;

/**
 * Measures a step of training of a multilayer perceptron: forward, backward with averaging, and
 * optimizer. {@code script/bench-ddp} compares it with the same in Python.
 */
public final class StepTime {

    /** How gradients are treated. */
    enum Mode {
        /** As in training. */
        DDP,
        /** Not averaged, to see what averaging costs. */
        ALONE,
        /**
         * As DDP, with a barrier of another group where a backward pass ended, which shows in a
         * trace.
         */
        MARKED
    }

    private static final class Perceptron extends Module {
        private final List<LinearImpl> layers = new ArrayList<>();

        Perceptron(int... sizes) {
            for (int i = 1; i < sizes.length; i++) {
                LinearImpl layer = new LinearImpl(sizes[i - 1], sizes[i]);
                layers.add(register_module("layer" + i, layer));
            }
        }

        Tensor forward(Tensor x) {
            Tensor result = layers.get(0).forward(x);
            for (LinearImpl layer : layers.subList(1, layers.size())) {
                result = layer.forward(relu(result));
            }
            return result;
        }
    }

    private StepTime() {}

    /**
     * Runs one rank and prints the median of its steps on rank 0.
     *
     * @param args {@code ddp}, {@code alone} or {@code marked}; the number of steps; the batch of
     *     each rank; the sizes of the layers
     */
    public static void main(String[] args) {
        TorchLibrary.load();
        set_num_threads(1);
        Mode mode = Mode.valueOf(args[0].toUpperCase(Locale.ROOT));
        int steps = Integer.parseInt(args[1]);
        int batch = Integer.parseInt(args[2]);
        int[] sizes = Arrays.stream(args).skip(3).mapToInt(Integer::parseInt).toArray();
        try (ProcessGroup world = ProcessGroup.init("gloo")) {
            manual_seed(world.rank());
            Perceptron net = new Perceptron(sizes);
            Tensor x = randn(batch, sizes[0]);
            Tensor y = randint(sizes[sizes.length - 1], new long[] {batch}).to(ScalarType.Long);
            double[] millis = measure(world, net, mode, steps, x, y);
            if (world.rank() == 0) {
                System.out.printf(Locale.ROOT, "median_ms %.3f%n", median(millis));
            }
        }
    }

    private static double[] measure(
            ProcessGroup world, Perceptron net, Mode mode, int steps, Tensor x, Tensor y) {
        SGD optimizer = new SGD(net.parameters(), new SGDOptions(0.01));
        int warmUp = steps / 4 + 2;
        List<Integer> all = IntStream.range(0, world.size()).boxed().toList();
        double[] millis = new double[steps];
        try (ProcessGroup marks = world.newGroup(all).orElseThrow();
                DistributedDataParallel ddp =
                        mode == Mode.ALONE ? null : DistributedDataParallel.of(world, net)) {
            for (int step = -warmUp; step < steps; step++) {
                long start = System.nanoTime();
                PointerScope memoryOfThisStep = new PointerScope();
                optimizer.zero_grad();
                Tensor loss = cross_entropy_loss(net.forward(x), y);
                if (mode == Mode.DDP) {
                    ddp.backward(loss);
                } else {
                    loss.backward();
                }
                if (mode == Mode.MARKED) {
                    marks.barrier();
                    ddp.finish();
                }
                optimizer.step();
                memoryOfThisStep.close();
                if (step >= 0) {
                    millis[step] = (System.nanoTime() - start) / 1e6;
                }
            }
        }
        return millis;
    }

    private static double median(double[] values) {
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        return (sorted[sorted.length / 2] + sorted[(sorted.length - 1) / 2]) / 2;
    }
}
