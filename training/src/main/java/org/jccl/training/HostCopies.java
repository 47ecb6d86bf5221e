package org.jccl.training;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jccl.Device;
import org.jccl.Tensor;

/** Copies of shards in host memory. The memory is reused for shards of the same names and sizes. */
final class HostCopies implements AutoCloseable {

    private Map<String, Tensor> memory = new HashMap<>();

    /** Copies the elements, and frees earlier copies that have no successor. */
    List<Shard> of(List<Shard> shards) {
        Map<String, Tensor> earlier = memory;
        memory = new HashMap<>();
        List<Tensor> fitting = new ArrayList<>();
        for (Shard shard : shards) {
            Tensor old = earlier.get(shard.name());
            boolean fits = old != null && isLike(old, shard.tensor());
            fitting.add(fits ? old : null);
            if (fits) {
                memory.put(shard.name(), earlier.remove(shard.name()));
            }
        }
        earlier.values().forEach(Tensor::close);
        List<Shard> copies = new ArrayList<>();
        for (int i = 0; i < shards.size(); i++) {
            copies.add(copy(shards.get(i), fitting.get(i)));
        }
        return copies;
    }

    private Shard copy(Shard shard, Tensor fitting) {
        Tensor source = shard.tensor();
        Tensor copy = fitting;
        if (copy == null) {
            copy = Tensor.allocate(Device.CPU, source.dataType(), source.count());
            memory.put(shard.name(), copy);
        }
        copy.copyFrom(source);
        return new Shard(shard.name(), shard.shape(), shard.offset(), copy, shard.replicated());
    }

    private static boolean isLike(Tensor one, Tensor other) {
        return one.dataType() == other.dataType() && one.count() == other.count();
    }

    @Override
    public void close() {
        memory.values().forEach(Tensor::close);
        memory.clear();
    }
}
