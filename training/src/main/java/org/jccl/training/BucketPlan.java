package org.jccl.training;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import org.jccl.DataType;

/** Which gradients share a bucket, given the order in which they are expected. */
final class BucketPlan {

    private BucketPlan() {}

    /** What is collected for one bucket. */
    private static final class Open {
        final List<Integer> members = new ArrayList<>();
        long bytes;
        int last;
    }

    /**
     * Fills buckets in the given order, one data type in each, until one has reached its size.
     *
     * @param gradients by index
     * @param order indices in the order in which the gradients are expected
     * @param firstBytes size of the first bucket, small so that communication begins early
     * @param bytes size of the others
     * @return the buckets in the order in which they are expected to be full
     */
    static List<List<Integer>> of(
            List<Gradient> gradients, int[] order, long firstBytes, long bytes) {
        Map<DataType, Open> open = new EnumMap<>(DataType.class);
        List<Open> buckets = new ArrayList<>();
        for (int place = 0; place < order.length; place++) {
            Gradient gradient = gradients.get(order[place]);
            Open bucket = open.computeIfAbsent(gradient.type, type -> new Open());
            bucket.members.add(order[place]);
            bucket.bytes += gradient.byteSize();
            bucket.last = place;
            if (bucket.bytes >= (buckets.isEmpty() ? firstBytes : bytes)) {
                buckets.add(open.remove(gradient.type));
            }
        }
        buckets.addAll(open.values());
        buckets.sort(Comparator.comparingInt(bucket -> bucket.last));
        return buckets.stream().map(bucket -> List.copyOf(bucket.members)).toList();
    }
}
