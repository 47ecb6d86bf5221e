package org.jccl.examples;

import java.util.Arrays;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;

/** Compares weights, to prove that the ranks trained one network together. */
public final class Weights {

    private Weights() {}

    /**
     * Tells whether all ranks have the weights of rank 0, bit by bit.
     *
     * @param group every rank of it calls this method
     * @param weights of this rank
     * @return the same answer on every rank
     */
    public static boolean areSameOnAllRanks(ProcessGroup group, float[] weights) {
        try (Tensor ofRank0 = Tensor.copyOf(weights)) {
            group.sync().broadcast(ofRank0, 0);
            boolean same = Arrays.equals(weights, ofRank0.copyTo(new float[weights.length]));
            return largestOfRanks(group, same ? 0 : 1) == 0;
        }
    }

    /**
     * Finds the largest of the ranks' numbers.
     *
     * @param group every rank of it calls this method
     * @param number of this rank
     * @return the same answer on every rank
     */
    public static double largestOfRanks(ProcessGroup group, double number) {
        try (Tensor largest = Tensor.copyOf(new double[] {number})) {
            group.sync().allReduce(largest, ReduceOp.MAX);
            return largest.copyTo(new double[1])[0];
        }
    }

    /**
     * Finds the largest difference between the weights of two networks.
     *
     * @param ones weights of one network
     * @param others weights of the other one
     * @return the difference; infinite if one of them is not a number
     */
    public static double difference(float[] ones, float[] others) {
        double largest = 0;
        for (int i = 0; i < ones.length; i++) {
            double difference = Math.abs(ones[i] - others[i]);
            largest =
                    Double.isFinite(difference)
                            ? Math.max(largest, difference)
                            : Double.POSITIVE_INFINITY;
        }
        return largest;
    }
}
