package org.jccl.pytorch;

import java.util.Arrays;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.UnaryOperator;
import java.util.stream.LongStream;
import org.bytedeco.pytorch.BatchNorm1dImpl;
import org.bytedeco.pytorch.BatchNorm2dImpl;
import org.bytedeco.pytorch.BatchNorm3dImpl;
import org.bytedeco.pytorch.BatchNormOptions;
import org.bytedeco.pytorch.DoubleOptional;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.ScalarTypeOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorBase;
import org.bytedeco.pytorch.TensorTensorHook;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.jccl.FailureContext;
import org.jccl.JcclException;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.UsageException;

/**
 * Batch normalization with the statistics of the batches of all ranks, like the class of that name
 * in PyTorch. It uses the parameters, buffers and options of a layer of the module, in place of the
 * layer's own {@code forward}:
 *
 * <pre>{@code
 * ProcessGroup ofNorms = world.split(0, world.rank()).orElseThrow();   // used by nothing else
 * SyncBatchNorm norm = SyncBatchNorm.of(ofNorms, net.norm);
 * ...
 * Tensor hidden = norm.forward(conv.forward(images));
 * }</pre>
 *
 * <p>In training, each forward pass sends one message, and so does each backward pass if the input
 * requires a gradient. So all ranks must run the same layers in the same order, in both passes,
 * also with a batch of another size or of no sample. Ranks compute the same running statistics. In
 * evaluation, the layer's own {@code forward} runs, and nothing is sent. CPU only. Not thread-safe.
 *
 * <p>Until {@link #close}, the process keeps a reference to the group.
 */
public final class SyncBatchNorm implements AutoCloseable {

    /** All hooks. PyTorch would call a hook that Java has collected. */
    private static final Set<SumOfRanks> RETAINED = ConcurrentHashMap.newKeySet();

    /** Replaces a gradient by the sum of those of all ranks. */
    private static final class SumOfRanks extends TensorTensorHook {

        /** Null once the normalization is closed: the hook itself remains reachable. */
        private transient volatile ProcessGroup group;

        SumOfRanks(ProcessGroup group) {
            this.group = group;
        }

        @Override
        public TensorBase call(TensorBase gradient) {
            ProcessGroup ranks = group;
            if (ranks == null) {
                throw TorchTensors.usage(
                        "this batch normalization was closed before its backward pass");
            }
            try (gradient) {
                return sum(ranks, new Tensor(gradient));
            }
        }
    }

    private final ProcessGroup group;
    private final Module layer;
    private final BatchNormOptions options;
    private final UnaryOperator<Tensor> alone;
    private final Map<String, Tensor> tensors;
    private final SumOfRanks sumOfRanks;

    private SyncBatchNorm(
            ProcessGroup group,
            Module layer,
            BatchNormOptions options,
            UnaryOperator<Tensor> alone) {
        this.group = group;
        this.layer = layer;
        this.options = TorchTensors.keep(options);
        this.alone = alone;
        tensors = ModelTensors.of(layer);
        sumOfRanks = TorchTensors.keep(new SumOfRanks(group));
        RETAINED.add(sumOfRanks);
    }

    /**
     * Normalizes in place of a layer for inputs of two or three dimensions. Nothing is sent.
     *
     * @param group whose ranks share statistics, and that is used by nothing but such layers: other
     *     operations of the backward pass may come in another order on other ranks. The caller
     *     still owns it
     * @param layer the caller still owns it; its parameters and buffers must stay those of now
     * @return the normalization
     * @throws UsageException if an argument is null
     */
    public static SyncBatchNorm of(ProcessGroup group, BatchNorm1dImpl layer) {
        requireNonNull(group, layer);
        return new SyncBatchNorm(group, layer, layer.options(), layer::forward);
    }

    /**
     * Normalizes in place of a layer for images.
     *
     * @param group as in {@link #of(ProcessGroup, BatchNorm1dImpl)}
     * @param layer as in {@link #of(ProcessGroup, BatchNorm1dImpl)}
     * @return the normalization
     * @throws UsageException if an argument is null
     */
    public static SyncBatchNorm of(ProcessGroup group, BatchNorm2dImpl layer) {
        requireNonNull(group, layer);
        return new SyncBatchNorm(group, layer, layer.options(), layer::forward);
    }

    /**
     * Normalizes in place of a layer for volumes.
     *
     * @param group as in {@link #of(ProcessGroup, BatchNorm1dImpl)}
     * @param layer as in {@link #of(ProcessGroup, BatchNorm1dImpl)}
     * @return the normalization
     * @throws UsageException if an argument is null
     */
    public static SyncBatchNorm of(ProcessGroup group, BatchNorm3dImpl layer) {
        requireNonNull(group, layer);
        return new SyncBatchNorm(group, layer, layer.options(), layer::forward);
    }

    private static void requireNonNull(ProcessGroup group, Module layer) {
        if (group == null || layer == null) {
            throw TorchTensors.usage((group == null ? "group" : "layer") + " is null");
        }
    }

    /**
     * Normalizes a batch. All ranks call it in training. Blocks then, and so does the backward
     * pass.
     *
     * @param input of this rank, on the CPU; the second dimension is that of channels
     * @return the normalized batch, of the type of the input
     * @throws UsageException if the input is null, closed, undefined, not on the CPU or of another
     *     number of channels, or on all ranks if all batches together have less than two elements
     *     in a channel
     * @throws JcclException if the group has failed
     */
    public Tensor forward(Tensor input) {
        if (sumOfRanks.group == null) {
            throw usage("this batch normalization is closed");
        }
        TorchTensors.requireDefined("input", input);
        long channels = options.num_features().get();
        if (input.dim() < 2 || input.size(1) != channels || !input.is_cpu()) {
            throw usage(
                    "the input is of shape "
                            + Arrays.toString(TorchTensors.shape(input))
                            + " on "
                            + input.device().str().getString()
                            + ", expected [batch, "
                            + channels
                            + ", ...] on the CPU");
        }
        return layer.is_training() ? normalized(input, channels) : alone.apply(input);
    }

    private Tensor normalized(Tensor input, long channels) {
        ScalarType type =
                input.element_size() < Float.BYTES ? ScalarType.Float : input.scalar_type();
        Tensor x = input.to(type);
        long[] shape = TorchTensors.shape(x);
        Arrays.fill(shape, 1);
        shape[1] = channels;
        long[] others = LongStream.range(0, shape.length).filter(i -> i != 1).toArray();
        long size = x.numel() / channels;

        // Sums of x - shift are exact where those of x lose digits.
        Tensor shift = x.detach().sum(others).div(new Scalar((double) Math.max(size, 1)));
        Tensor centered = x.sub(shift.view(shape));
        ScalarTypeOptional inDouble = new ScalarTypeOptional(ScalarType.Double);
        Tensor sum = centered.sum(others, false, inDouble);
        Tensor squares = centered.square().sum(others, false, inDouble);
        Tensor by = shift.to(ScalarType.Double);
        Tensor moved = by.mul(new Scalar((double) size));
        Tensor local =
                torch.cat(
                        new TensorVector(
                                sum.add(moved),
                                squares.add(by.mul(sum), new Scalar(2.0)).add(by.mul(moved)),
                                Tensor.create((double) size)));

        // The values are those of all ranks. The gradient is that with respect to this rank's.
        Tensor global = sum(group, local.detach());
        Tensor all = local.sub(local.detach()).add(global);
        if (all.requires_grad()) {
            all.register_hook(sumOfRanks);
        }
        double count = global.narrow(0, 2 * channels, 1).item_double();
        if (count < 2) {
            throw usage(
                    "a channel needs at least 2 elements, all ranks together have " + (long) count);
        }
        Scalar divisor = new Scalar(count);
        Tensor mean = all.narrow(0, 0, channels).div(divisor);
        Tensor variance =
                all.narrow(0, channels, channels)
                        .div(divisor)
                        .sub(mean.square())
                        .clamp_min(new Scalar(0.0));
        track(mean.detach(), variance.detach().mul(new Scalar(count / (count - 1))));
        Tensor factor = variance.add(new Scalar(options.eps().get())).rsqrt();
        Tensor weight = tensors.get("weight");
        factor = weight == null ? factor : factor.mul(weight);
        Tensor offset = by.sub(mean).mul(factor);
        offset = weight == null ? offset : offset.add(tensors.get("bias"));
        return centered.mul(factor.to(type).view(shape))
                .add(offset.to(type).view(shape))
                .to(input.scalar_type());
    }

    private void track(Tensor mean, Tensor variance) {
        Tensor batches = tensors.get("num_batches_tracked");
        if (batches != null) {
            batches.add_(new Scalar(1));
            DoubleOptional momentum = options.momentum();
            double weight = momentum.has_value() ? momentum.get() : 1 / batches.item_double();
            track(tensors.get("running_mean"), mean, weight);
            track(tensors.get("running_var"), variance, weight);
        }
    }

    private static void track(Tensor running, Tensor now, double weight) {
        running.lerp_(now.to(running.scalar_type()), new Scalar(weight));
    }

    private static Tensor sum(ProcessGroup group, Tensor ofRank) {
        Tensor all = ofRank.detach().clone();
        group.allReduce(TorchTensors.of(all), ReduceOp.SUM).await();
        return all;
    }

    /**
     * Releases the group, which the caller still owns. Call it after the last backward pass. {@link
     * #forward} then throws. Idempotent.
     */
    @Override
    public void close() {
        sumOfRanks.group = null;
    }

    private UsageException usage(String message) {
        return new UsageException(FailureContext.ofGroup(group.name(), group.rank()), message);
    }
}
