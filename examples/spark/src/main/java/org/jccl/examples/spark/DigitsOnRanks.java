package org.jccl.examples.spark;

import java.util.List;
import java.util.Locale;
import java.util.stream.IntStream;
import org.jccl.ProcessGroup;
import org.jccl.examples.Digits;
import org.jccl.examples.spark.Softmax.Image;

/** The training of {@link DigitsOnSpark} without Spark, with the same part of the digits a rank. */
public final class DigitsOnRanks {

    private DigitsOnRanks() {}

    /**
     * Runs one rank; start it with {@code jccl run}.
     *
     * @param args the number of epochs, 20 by default
     */
    public static void main(String[] args) {
        int epochs = args.length > 0 ? Integer.parseInt(args[0]) : 20;
        Digits.Split digits = Digits.load();
        try (ProcessGroup world = ProcessGroup.init("gloo")) {
            long all = digits.train().size();
            int first = (int) (all * world.rank() / world.size());
            int end = (int) (all * (world.rank() + 1) / world.size());
            List<Image> mine =
                    IntStream.range(first, end)
                            .mapToObj(
                                    i ->
                                            new Image(
                                                    digits.train().images()[i],
                                                    digits.train().labels()[i]))
                            .toList();
            Softmax model = Softmax.train(world, mine, epochs);
            System.out.println(
                    String.format(
                            Locale.ROOT,
                            "rank %d: weights %s, test accuracy %.1f %%",
                            world.rank(),
                            model.checksum(),
                            100 * model.accuracy(digits.test())));
        }
    }
}
