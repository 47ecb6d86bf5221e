package org.jccl.examples;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Stream;
import org.jccl.Tensor;
import org.jccl.Work;
import org.jccl.training.GradientReducer;
import org.jccl.training.GradientReducerBuilder;

/**
 * Measures the benefit of buckets. The program averages the gradients of a model with many small
 * parameters one by one, as one list, and through a {@link GradientReducer}, without any
 * computation. Each round measures all three, and compares their times.
 */
public final class Buckets {

    private static final int PARAMETERS = 200;
    private static final int WARM_UP = 10;
    private static final double MICROSECOND = 1e3;

    private Buckets() {}

    /**
     * Runs one rank; start it with {@code jccl run} or torchrun.
     *
     * @param args the backend (gloo), and the number of rounds (60)
     */
    public static void main(String[] args) {
        String backend = args.length > 0 ? args[0] : "gloo";
        int rounds = args.length > 1 ? Integer.parseInt(args[1]) : 60;
        try (ProcessGroup world = ProcessGroup.init(backend)) {
            for (int floats : new int[] {256, 5_000, 20_000}) {
                List<String> lines = measure(world, floats, rounds);
                if (world.rank() == 0) {
                    lines.forEach(System.out::println);
                }
            }
        }
    }

    /** One line for each method, with its time relative to that of one by one. */
    static List<String> measure(ProcessGroup world, int floats, int rounds) {
        Device device = world.devices().get(0);
        List<Tensor> gradients = new ArrayList<>();
        GradientReducerBuilder builder = GradientReducer.builder(world);
        for (int i = 0; i < PARAMETERS; i++) {
            gradients.add(Tensor.allocate(device, DataType.FLOAT32, floats));
            gradients.get(i).copyFrom(new float[floats]);
            builder.gradient("parameter " + i, gradients.get(i));
        }
        try (GradientReducer reducer = builder.build()) {
            Map<String, Runnable> ways = new LinkedHashMap<>();
            ways.put("one by one", () -> oneByOne(world, gradients));
            ways.put("as a list", () -> world.allReduce(gradients, ReduceOp.AVG).synchronize());
            ways.put("in buckets", () -> inBuckets(world, reducer));
            return compare(world, ways, floats, rounds);
        } finally {
            gradients.forEach(Tensor::close);
        }
    }

    private static void oneByOne(ProcessGroup world, List<Tensor> gradients) {
        List<Work> works = new ArrayList<>();
        for (int i = gradients.size() - 1; i >= 0; i--) {
            works.add(world.allReduce(gradients.get(i), ReduceOp.AVG));
        }
        works.forEach(Work::synchronize);
    }

    private static void inBuckets(ProcessGroup world, GradientReducer reducer) {
        for (int i = reducer.size() - 1; i >= 0; i--) {
            reducer.ready(i);
        }
        reducer.finish();
        Device device = world.devices().get(0);
        if (!device.isCpu()) {
            Stream.current(device).synchronize();
        }
    }

    private static List<String> compare(
            ProcessGroup world, Map<String, Runnable> ways, int floats, int rounds) {
        double[][] micros = new double[ways.size()][rounds];
        for (int round = -WARM_UP; round < rounds; round++) {
            int way = 0;
            for (Runnable run : ways.values()) {
                world.barrier().synchronize();
                long start = System.nanoTime();
                run.run();
                if (round >= 0) {
                    micros[way][round] = (System.nanoTime() - start) / MICROSECOND;
                }
                way++;
            }
        }
        List<String> lines = new ArrayList<>();
        int way = 0;
        for (String name : ways.keySet()) {
            double[] ratios = new double[rounds];
            for (int round = 0; round < rounds; round++) {
                ratios[round] = micros[way][round] / micros[0][round];
            }
            lines.add(
                    String.format(
                            Locale.ROOT,
                            "%d x %6d floats %-10s  %8.0f us  %.2f of one by one",
                            PARAMETERS,
                            floats,
                            name,
                            median(micros[way]),
                            median(ratios)));
            way++;
        }
        return lines;
    }

    private static double median(double[] values) {
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        return sorted[sorted.length / 2];
    }
}
