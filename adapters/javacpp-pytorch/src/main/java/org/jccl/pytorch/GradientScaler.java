package org.jccl.pytorch;

import java.util.List;
import java.util.Map;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.jccl.FailureContext;
import org.jccl.JcclException;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.UsageException;
import org.jccl.training.DifferentModelsException;

/**
 * Scales losses, so that gradients in float16 neither vanish nor overflow, like {@code
 * torch.amp.GradScaler}. If the gradients of any rank are not finite, all ranks skip the step and
 * halve the scale. After a number of steps without an overflow the scale is doubled.
 *
 * <pre>{@code
 * GradientScaler scaler = GradientScaler.of(world);
 * for (each batch) {
 *     optimizer.zero_grad();
 *     Tensor loss;
 *     try (Autocast scope = Autocast.of(DeviceType.CPU, ScalarType.Half)) {
 *         loss = cross_entropy_loss(net.forward(images), labels);
 *     }
 *     ddp.backward(scaler.scale(loss));
 *     scaler.unscale(optimizer);                 // only before clipping
 *     clip_grad_norm_(net.parameters(), 1.0);
 *     scaler.step(optimizer);
 * }
 * }</pre>
 *
 * <p>Works with {@link DistributedDataParallel} and {@link FullyShardedDataParallel}. Each step
 * sends one message of five numbers. So all ranks must make the same number of steps: uneven inputs
 * ({@link DistributedDataParallel#join}) cannot be used. One object is for one optimizer. Not
 * thread-safe.
 */
public final class GradientScaler {

    private static final double FIRST_SCALE = 1 << 16;
    private static final int GROWTH_INTERVAL = 2000;

    /** Below this scale, gradients overflow for another reason. */
    private static final double SMALLEST_SCALE = 0x1p-24;

    private static final String SCALE = "gradient_scaler.scale";
    private static final String STEPS = "gradient_scaler.steps";

    private final ProcessGroup group;
    private final int growthInterval;
    private double scale;

    /** Number of steps since the scale was changed. */
    private long steps;

    private boolean unscaled;
    private boolean overflow;

    private GradientScaler(ProcessGroup group, double scale, int growthInterval) {
        this.group = group;
        this.scale = scale;
        this.growthInterval = growthInterval;
    }

    /**
     * A scaler that begins with 65536 and doubles the scale after 2000 steps.
     *
     * @param group whose ranks train; the caller still owns it
     * @return the scaler
     * @throws UsageException if the group is null
     */
    public static GradientScaler of(ProcessGroup group) {
        return of(group, FIRST_SCALE, GROWTH_INTERVAL);
    }

    /**
     * A scaler with other numbers, the same on all ranks.
     *
     * @param group whose ranks train; the caller still owns it
     * @param scale the first scale. A power of two changes no bit of the gradients
     * @param growthInterval the number of steps without an overflow after which the scale is
     *     doubled
     * @return the scaler
     * @throws UsageException if the group is null, or a number is not finite and positive
     */
    public static GradientScaler of(ProcessGroup group, double scale, int growthInterval) {
        if (group == null) {
            throw TorchTensors.usage("group is null");
        }
        if (growthInterval < 1) {
            throw TorchTensors.usage("the growth interval is " + growthInterval);
        }
        return new GradientScaler(group, checked(scale), growthInterval);
    }

    private static double checked(double scale) {
        if (!(scale > 0 && scale < Double.POSITIVE_INFINITY)) {
            throw TorchTensors.usage("the scale is " + scale);
        }
        return scale;
    }

    /**
     * Multiplies a loss by the scale.
     *
     * @param loss of this rank's batch; the caller still owns it
     * @return the scaled loss, in float32 if the loss has 16 bits
     * @throws UsageException if the loss is null, closed or undefined
     */
    public Tensor scale(Tensor loss) {
        TorchTensors.requireDefined("loss", loss);
        try (Scalar factor = new Scalar(scale)) {
            return (loss.element_size() < Float.BYTES ? loss.to(ScalarType.Float) : loss)
                    .mul(factor);
        }
    }

    /**
     * Divides the gradients of the optimizer by the scale, once in a step, for a program that uses
     * them before {@link #step}. Nothing is sent.
     *
     * @param optimizer has the gradients of this step
     * @throws UsageException if the optimizer is null, the gradients are unscaled already, or a
     *     gradient is of a 16-bit type
     */
    public void unscale(Optimizer optimizer) {
        if (optimizer == null) {
            throw usage("optimizer is null");
        }
        if (unscaled) {
            throw usage("the gradients are unscaled already; call step(optimizer) next");
        }
        overflow = false;
        try (Scalar factor = new Scalar(1 / scale)) {
            for (List<Tensor> parameters : OptimizerState.groups(optimizer)) {
                for (Tensor parameter : parameters) {
                    try (Tensor gradient = parameter.grad()) {
                        if (gradient.defined()) {
                            unscale(gradient, factor);
                        }
                    }
                }
            }
        }
        unscaled = true;
    }

    private void unscale(Tensor gradient, Scalar factor) {
        if (gradient.element_size() < Float.BYTES) {
            throw usage(
                    "a gradient is of type "
                            + gradient.scalar_type().intern()
                            + "; keep parameters in float32 and use Autocast");
        }
        gradient.mul_(factor);
        try (Tensor finite = gradient.isfinite();
                Tensor all = finite.all()) {
            overflow |= !all.item_bool();
        }
    }

    /**
     * Runs a step of the optimizer, unless gradients of a rank are not finite, and adapts the
     * scale. All ranks call it. Blocks.
     *
     * @param optimizer has the gradients of this step
     * @return whether the step was made, the same on all ranks
     * @throws DifferentModelsException on all ranks, if they have different scales
     * @throws UsageException as {@link #unscale}, or on all ranks if gradients are not finite at
     *     any scale
     * @throws JcclException if the group has failed
     */
    public boolean step(Optimizer optimizer) {
        if (!unscaled) {
            unscale(optimizer);
        }
        unscaled = false;
        boolean skip = anyRankOverflows();
        if (!skip) {
            optimizer.step();
        }
        steps = skip ? 0 : steps + 1;
        if (skip && scale / 2 < SMALLEST_SCALE) {
            throw usage(
                    "gradients are not finite at a scale of "
                            + scale
                            + "; probably weights, inputs or the loss are not finite");
        }
        if (skip || steps >= growthInterval) {
            scale = skip ? scale / 2 : scale * 2;
            steps = 0;
        }
        return !skip;
    }

    /** Compares scales, too: averages of gradients with different scales would be wrong. */
    private boolean anyRankOverflows() {
        double[] most = {overflow ? 1 : 0, scale, -scale, steps, -steps};
        try (org.jccl.Tensor all =
                org.jccl.Tensor.allocate(
                                group.devices().get(0), org.jccl.DataType.FLOAT64, most.length)
                        .copyFrom(most)) {
            group.allReduce(all, ReduceOp.MAX).synchronize();
            all.copyTo(most);
        }
        if (most[1] != -most[2] || most[3] != -most[4]) {
            throw new DifferentModelsException(
                    FailureContext.ofGroup(group.name(), group.rank()),
                    "ranks have scales of gradients from "
                            + -most[2]
                            + " to "
                            + most[1]
                            + ", unchanged for "
                            + (long) -most[4]
                            + " to "
                            + (long) most[3]
                            + " steps; make the scaler with the same numbers, or load the same"
                            + " state, on all ranks");
        }
        return most[0] > 0;
    }

    /**
     * Returns the scale of the next loss.
     *
     * @return the scale
     */
    public double scale() {
        return scale;
    }

    /**
     * Returns the state, for the texts of a checkpoint.
     *
     * @return texts by name
     */
    public Map<String, String> texts() {
        return Map.of(SCALE, Double.toString(scale), STEPS, Long.toString(steps));
    }

    /**
     * Continues with a state, on all ranks with the same one.
     *
     * @param texts has those of {@link #texts}, and may have others
     * @throws UsageException if it is null or lacks them
     */
    public void load(Map<String, String> texts) {
        if (texts == null) {
            throw usage("texts is null");
        }
        try {
            double loaded = checked(Double.parseDouble(String.valueOf(texts.get(SCALE))));
            steps = Long.parseLong(texts.get(STEPS));
            scale = loaded;
        } catch (NumberFormatException e) {
            throw usage("the texts lack a number '" + SCALE + "' or '" + STEPS + "': " + texts);
        }
    }

    private UsageException usage(String message) {
        return new UsageException(FailureContext.ofGroup(group.name(), group.rank()), message);
    }
}
