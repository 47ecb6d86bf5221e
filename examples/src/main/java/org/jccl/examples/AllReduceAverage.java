package org.jccl.examples;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.Work;

/**
 * Averages with one asynchronous all-reduce a layer, which runs while the gradient of the next
 * layer is computed.
 */
final class AllReduceAverage implements GradientAverage, AutoCloseable {

    private record Pending(Layer layer, Tensor tensor, Work work, long startNanos) {}

    private final ProcessGroup group;
    private final Map<Layer, Tensor> tensors = new HashMap<>();
    private final List<Pending> pending = new ArrayList<>();
    private long waitedNanos;
    private Duration inOperations = Duration.ZERO;

    AllReduceAverage(ProcessGroup group, Network network) {
        this.group = group;
        for (Layer layer : network.layers()) {
            tensors.put(
                    layer, Tensor.allocate(Device.CPU, DataType.FLOAT32, layer.gradient.length));
        }
    }

    @Override
    public void start(Layer layer) {
        Tensor tensor = tensors.get(layer).copyFrom(layer.gradient);
        long now = System.nanoTime();
        pending.add(new Pending(layer, tensor, group.allReduce(tensor, ReduceOp.AVG), now));
    }

    @Override
    public void finish() {
        for (Pending one : pending) {
            long before = System.nanoTime();
            one.work().await();
            long now = System.nanoTime();
            waitedNanos += now - before;
            inOperations = inOperations.plusNanos(now - one.startNanos());
            one.tensor().copyTo(one.layer().gradient);
        }
        pending.clear();
    }

    /** Time between each all-reduce and the return of its await, slower ranks included. */
    Duration inOperations() {
        return inOperations;
    }

    /** Time in which this rank did nothing but wait for them. */
    Duration waited() {
        return Duration.ofNanos(waitedNanos);
    }

    @Override
    public void close() {
        tensors.values().forEach(Tensor::close);
    }
}
