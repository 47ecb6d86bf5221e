package org.jccl.examples.pytorch;

import static org.bytedeco.pytorch.global.torch.cross_entropy_loss;
import static org.bytedeco.pytorch.global.torch.manual_seed;
import static org.bytedeco.pytorch.global.torch.randint;
import static org.bytedeco.pytorch.global.torch.randn;
import static org.bytedeco.pytorch.global.torch.relu;
import static org.bytedeco.pytorch.global.torch.set_num_threads;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
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
 * optimizer. {@code script/bench/ddp} compares it with the same program in Python.
 */
public final class StepTime {

    /** How gradients are treated. */
    enum Mode {
        /** As in training. */
        DDP,
        /** Not averaged, to see what averaging costs. */
        ALONE,
        /**
         * As DDP, with a barrier of another group after each backward pass, which is visible in a
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

    /**
     * Runs one rank. Rank 0 prints the median step of each block in milliseconds.
     *
     * @param args {@code ddp}, {@code alone} or {@code marked}; a file with the number of blocks
     *     that all programs have run, which run alternately; this program's number among them, and
     *     how many there are; the number of blocks, and of steps in each; the batch of each rank;
     *     the sizes of the layers
     * @throws IOException if the file cannot be read or written
     * @throws InterruptedException never
     */
    public static void main(String[] args) throws IOException, InterruptedException {
        TorchLibrary.load();
        set_num_threads(1);
        Mode mode = Mode.valueOf(args[0].toUpperCase(Locale.ROOT));
        Path turns = Path.of(args[1]);
        int[] numbers = Arrays.stream(args).skip(2).mapToInt(Integer::parseInt).toArray();
        int[] sizes = Arrays.copyOfRange(numbers, 5, numbers.length);
        try (ProcessGroup world = ProcessGroup.init("gloo");
                ProcessGroup tracing =
                        world.newGroup(IntStream.range(0, world.size()).boxed().toList())
                                .orElseThrow()) {
            manual_seed(world.rank());
            Perceptron net = new Perceptron(sizes);
            try (DistributedDataParallel ddp =
                    mode == Mode.ALONE ? null : DistributedDataParallel.of(world, net)) {
                StepTime job = new StepTime(net, ddp, mode == Mode.MARKED ? tracing : null);
                for (int block = 0; block < numbers[2]; block++) {
                    if (world.rank() == 0) {
                        awaitTurn(turns, block * numbers[1] + numbers[0]);
                    }
                    world.barrier().await();
                    double median = job.block(numbers[3], numbers[4], sizes);
                    world.barrier().await();
                    if (world.rank() == 0) {
                        System.out.printf(Locale.ROOT, "block_ms %.3f%n", median);
                        Files.writeString(turns, block * numbers[1] + numbers[0] + 1 + "\n");
                    }
                }
            }
        }
    }

    private static void awaitTurn(Path turns, int number) throws IOException, InterruptedException {
        while (!Files.readString(turns).equals(number + "\n")) {
            Thread.sleep(5);
        }
    }

    private final Perceptron net;
    private final DistributedDataParallel ddp;
    private final ProcessGroup tracing;
    private final SGD optimizer;

    private StepTime(Perceptron net, DistributedDataParallel ddp, ProcessGroup tracing) {
        this.net = net;
        this.ddp = ddp;
        this.tracing = tracing;
        this.optimizer = new SGD(net.parameters(), new SGDOptions(0.01));
    }

    private double block(int steps, int batch, int[] sizes) {
        Tensor x = randn(batch, sizes[0]);
        Tensor y = randint(sizes[sizes.length - 1], new long[] {batch}).to(ScalarType.Long);
        double[] millis = new double[steps];
        for (int step = 0; step < steps; step++) {
            long start = System.nanoTime();
            PointerScope memoryOfThisStep = new PointerScope();
            optimizer.zero_grad();
            backward(cross_entropy_loss(net.forward(x), y));
            optimizer.step();
            memoryOfThisStep.close();
            millis[step] = (System.nanoTime() - start) / 1e6;
        }
        Arrays.sort(millis);
        return (millis[steps / 2] + millis[(steps - 1) / 2]) / 2;
    }

    private void backward(Tensor loss) {
        if (tracing != null) {
            loss.backward();
            tracing.barrier();
            ddp.finish();
        } else if (ddp != null) {
            ddp.backward(loss);
        } else {
            loss.backward();
        }
    }
}
