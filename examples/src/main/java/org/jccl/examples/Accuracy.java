package org.jccl.examples;

import java.util.List;
import java.util.Locale;
import org.jccl.Tensor;

/** How good trained weights are. */
final class Accuracy {

    private static final double LEAST = 0.9;

    private Accuracy() {}

    /** Prints how many of the test images are recognised, and returns whether that is enough. */
    static boolean print(Network network, List<Tensor> weights) {
        for (int i = 0; i < weights.size(); i++) {
            weights.get(i).copyTo(network.layers().get(i).weights);
        }
        double accuracy = network.accuracy(Digits.load().test());
        System.out.println(
                String.format(
                        Locale.ROOT, "%.1f %% of the test images are recognised", 100 * accuracy));
        return accuracy >= LEAST;
    }
}
