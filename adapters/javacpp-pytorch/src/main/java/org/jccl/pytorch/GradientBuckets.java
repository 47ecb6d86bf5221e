package org.jccl.pytorch;

import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.bytedeco.pytorch.Tensor;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.training.BucketMemory;
import org.jccl.training.GradientReducer;

/**
 * The memory of a reducer's buckets as PyTorch tensors, which live as long as a gradient in them.
 * Guarded by the lock of the {@link DistributedDataParallel}.
 */
final class GradientBuckets implements BucketMemory, AutoCloseable {

    private final List<Parameter> parameters;

    /** By their addresses. */
    private final TreeMap<Long, Tensor> buckets = new TreeMap<>();

    GradientBuckets(List<Parameter> parameters) {
        this.parameters = parameters;
    }

    @Override
    public org.jccl.Tensor allocate(Device where, DataType type, long count) {
        Tensor like =
                parameters.stream().filter(p -> p.type == type).findFirst().orElseThrow().tensor;
        // One additional element, so that a gradient without elements is inside too.
        Tensor bucket = TorchTensors.keep(like.new_zeros(count + 1).set_requires_grad(false));
        try (Tensor part = bucket.narrow(0, 0, count)) {
            org.jccl.Tensor memory = TorchTensors.of("a bucket", part);
            buckets.put(memory.address(), bucket);
            return memory;
        }
    }

    /** Gives each gradient its part of a bucket, and closes buckets without gradients. */
    void place(GradientReducer reducer) {
        Set<Long> used = new HashSet<>();
        for (int i = 0; i < parameters.size(); i++) {
            org.jccl.Tensor view = reducer.bucketView(i);
            Map.Entry<Long, Tensor> bucket = buckets.floorEntry(view.address());
            long offset = (view.address() - bucket.getKey()) / view.dataType().size();
            parameters.get(i).setPlace(bucket.getValue(), offset);
            used.add(bucket.getKey());
        }
        buckets.entrySet()
                .removeIf(
                        entry -> {
                            boolean old = !used.contains(entry.getKey());
                            if (old) {
                                entry.getValue().close();
                            }
                            return old;
                        });
    }

    @Override
    public void close() {
        buckets.values().forEach(Tensor::close);
        buckets.clear();
    }
}
