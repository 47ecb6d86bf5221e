package org.jccl.training;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import org.jccl.DataType;

/** Assigns gradients to buckets in the order in which they are expected. */
final class BucketPlan {

    private BucketPlan() {}

    /** A bucket that is being filled. */
    private static final class Open {
        final List<Integer> members = new ArrayList<>();
        long bytes;
        int last;
    }

    /**
     * Fills buckets in the given order. A bucket has one data type and is full when it reaches its
     * size.
     *
     * @param gradients the gradients by index
     * @param order the indices in the order in which the gradients are expected
     * @param firstBytes the size of the first bucket, small so that communication begins early
     * @param bytes the size of the others
     * @return the buckets in the order in which they are expected to be full
     */
    static List<List<Integer>> of(
            List<Gradient> gradients, int[] order, long firstBytes, long bytes) {
        Map<DataType, Open> open = new EnumMap<>(DataType.class);
        List<Open> buckets = new ArrayList<>();
        for (int index = 0; index < order.length; index++) {
            Gradient gradient = gradients.get(order[index]);
            Open bucket = open.computeIfAbsent(gradient.type, type -> new Open());
            bucket.members.add(order[index]);
            bucket.bytes += gradient.byteSize();
            bucket.last = index;
            if (bucket.bytes >= (buckets.isEmpty() ? firstBytes : bytes)) {
                buckets.add(open.remove(gradient.type));
            }
        }
        buckets.addAll(open.values());
        buckets.sort(Comparator.comparingInt(bucket -> bucket.last));
        return buckets.stream().map(bucket -> List.copyOf(bucket.members)).toList();
    }
}
