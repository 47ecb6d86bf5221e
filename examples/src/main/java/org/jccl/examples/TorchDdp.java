package org.jccl.examples;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;

/**
 * This rank's part in PyTorch's {@code DistributedDataParallel} (as of 2.13, with its default
 * options) of a model without buffers whose parameters have less than a megabyte. The constructor
 * does the work of DDP's constructor, and {@link #finish} that of DDP's backward pass:
 *
 * <ol>
 *   <li>The ranks gather their numbers of parameters, and rank 0 broadcasts the shapes, so that a
 *       rank with another model is detected.
 *   <li>Rank 0 sends its parameters, end to end.
 *   <li>In each step the ranks divide their gradients by the world size and sum them up, bucket by
 *       bucket. At first there is one bucket with all parameters in their order.
 *   <li>Before the second step, rank 0 broadcasts new buckets, in the order of its gradients.
 * </ol>
 */
final class TorchDdp implements GradientAverage, AutoCloseable {

    /** The size of the first bucket. */
    private static final int LARGEST_MODEL_BYTES = 1 << 20;

    private final ProcessGroup world;
    private final List<TorchParameter> parameters;
    private List<List<Integer>> buckets;
    private final Tensor memory;
    private int steps;

    /** Called by every rank, where Python's call {@code DistributedDataParallel}. */
    TorchDdp(ProcessGroup world, Network network) {
        this.world = world;
        this.parameters = TorchParameter.of(network);
        this.buckets = List.of(IntStream.range(0, parameters.size()).boxed().toList());
        int count = parameters.stream().mapToInt(TorchParameter::count).sum();
        if (count * Float.BYTES > LARGEST_MODEL_BYTES) {
            throw new IllegalArgumentException("the model needs more than DDP's first bucket");
        }
        this.memory = Tensor.allocate(Device.CPU, DataType.FLOAT32, count);
        checkShapes();
        receiveParameters(count);
    }

    private void checkShapes() {
        long[] counts = new long[world.size()];
        try (Tensor mine = Tensor.copyOf(new long[] {parameters.size()});
                Tensor all = Tensor.copyOf(counts)) {
            world.sync().allGatherSingle(all, mine);
            all.copyTo(counts);
        }
        for (long count : counts) {
            require(count == parameters.size(), "a rank has " + count + " parameters");
        }
        long[] shapes =
                parameters.stream().flatMapToLong(TorchParameter::sizesAndStrides).toArray();
        long[] ofRank0 = broadcast(shapes.clone());
        for (int i = 0; i < shapes.length; i++) {
            require(shapes[i] == ofRank0[i], "rank 0 has other shapes");
        }
    }

    private static void require(boolean condition, String otherwise) {
        if (!condition) {
            throw new IllegalStateException("the ranks do not train the same model: " + otherwise);
        }
    }

    private long[] broadcast(long[] values) {
        try (Tensor tensor = Tensor.copyOf(values)) {
            world.sync().broadcast(tensor, 0);
            return tensor.copyTo(values);
        }
    }

    private int[] broadcast(int[] values) {
        try (Tensor tensor = Tensor.copyOf(values)) {
            world.sync().broadcast(tensor, 0);
            return tensor.copyTo(values);
        }
    }

    private void receiveParameters(int count) {
        world.sync().broadcast(memory, 0);
        float[] values = memory.copyTo(new float[count]);
        int offset = 0;
        for (TorchParameter parameter : parameters) {
            parameter.setWeights(values, offset);
            offset += parameter.count();
        }
    }

    /** Does nothing: DDP's only bucket is complete after the last layer. */
    @Override
    public void start(Layer layer) {}

    @Override
    public void finish() {
        if (steps++ == 1) {
            receiveBuckets();
        }
        for (List<Integer> bucket : buckets) {
            reduce(bucket.stream().map(parameters::get).toList());
        }
    }

    /** Receives all indices and the number of buckets, then the sizes of the buckets. */
    private void receiveBuckets() {
        int[] indices = broadcast(new int[parameters.size() + 1]);
        int[] sizes = broadcast(new int[indices[parameters.size()]]);
        List<List<Integer>> received = new ArrayList<>();
        int first = 0;
        for (int size : sizes) {
            received.add(IntStream.range(first, first + size).mapToObj(i -> indices[i]).toList());
            first += size;
        }
        buckets = received;
    }

    private void reduce(List<TorchParameter> bucket) {
        int count = bucket.stream().mapToInt(TorchParameter::count).sum();
        float[] values = new float[count];
        int offset = 0;
        for (TorchParameter parameter : bucket) {
            parameter.getGradient(values, offset);
            offset += parameter.count();
        }
        float share = (float) (1.0 / world.size());
        for (int i = 0; i < count; i++) {
            values[i] *= share;
        }
        Tensor part = memory.slice(0, count).copyFrom(values);
        world.sync().allReduce(part, ReduceOp.SUM);
        part.copyTo(values);
        offset = 0;
        for (TorchParameter parameter : bucket) {
            parameter.setGradient(values, offset);
            offset += parameter.count();
        }
    }

    @Override
    public void close() {
        memory.close();
    }
}
