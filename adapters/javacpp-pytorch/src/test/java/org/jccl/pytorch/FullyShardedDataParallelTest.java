package org.jccl.pytorch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;
import static org.bytedeco.pytorch.global.torch.clip_grad_norm_;
import static org.bytedeco.pytorch.global.torch.ones;

import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.LongStream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Adam;
import org.bytedeco.pytorch.AdamOptions;
import org.bytedeco.pytorch.AdamW;
import org.bytedeco.pytorch.AdamWOptions;
import org.bytedeco.pytorch.BoolOptional;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorArrayRefOptional;
import org.bytedeco.pytorch.TensorVector;
import org.jccl.JcclException;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.UsageException;
import org.jccl.training.DifferentModelsException;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(180)
class FullyShardedDataParallelTest {

    private static final int STEPS = 12;
    private static final int BATCH = 24;
    private static final int LARGE = 100_000;
    private static final float LEARNING_RATE = 0.1f;
    private static final String[] UNITS = {"conv", "hidden", "norm", "output"};

    @BeforeAll
    static void load() {
        TorchLibrary.load();
    }

    private static SGD sgd(TensorVector parameters) {
        SGDOptions options = new SGDOptions(LEARNING_RATE);
        options.momentum().put(0.9);
        return new SGD(parameters, options);
    }

    private static Adam adam(TensorVector parameters) {
        return new Adam(parameters, new AdamOptions(0.01));
    }

    private static AdamW adamW(TensorVector parameters) {
        return new AdamW(parameters, new AdamWOptions(0.01));
    }

    static final List<Function<TensorVector, Optimizer>> OPTIMIZERS =
            List.of(
                    FullyShardedDataParallelTest::sgd,
                    FullyShardedDataParallelTest::adam,
                    FullyShardedDataParallelTest::adamW);

    private static Tensor[] batch(int step, ProcessGroup group) {
        Tensor[] all = SmallNet.batch(step, BATCH);
        long size = BATCH / group.size();
        return new Tensor[] {
            all[0].narrow(0, group.rank() * size, size), all[1].narrow(0, group.rank() * size, size)
        };
    }

    /** The bits of the weights and the losses with whole parameters. */
    private static List<float[]> replicated(
            ProcessGroup group, Function<TensorVector, Optimizer> kind) {
        SmallNet net = SmallNet.seeded(1);
        Optimizer optimizer = kind.apply(net.parameters());
        List<float[]> result = new ArrayList<>();
        try (DistributedDataParallel ddp = DistributedDataParallel.of(group, net)) {
            for (int step = 0; step < STEPS; step++) {
                optimizer.zero_grad();
                Tensor loss = net.loss(batch(step, group));
                ddp.backward(loss);
                optimizer.step();
                result.add(new float[] {loss.item_float()});
            }
        }
        result.add(SmallNet.weights(net));
        return result;
    }

    private static List<float[]> sharded(
            ProcessGroup group, Function<TensorVector, Optimizer> kind, String... units) {
        SmallNet net = SmallNet.seeded(group.rank() == 0 ? 1 : 99 + group.rank());
        List<float[]> result = new ArrayList<>();
        try (FullyShardedDataParallel fsdp = FullyShardedDataParallel.of(group, net, units)) {
            Optimizer optimizer = kind.apply(fsdp.parameters());
            for (int step = 0; step < STEPS; step++) {
                try (PointerScope scope = new PointerScope()) {
                    optimizer.zero_grad();
                    Tensor loss = net.loss(batch(step, group), inUnits(fsdp, units));
                    fsdp.backward(loss);
                    optimizer.step();
                    result.add(new float[] {loss.item_float()});
                    assertThat(scope.toString()).isNotNull();
                }
            }
            result.add(weights(fsdp, net));
        }
        return result;
    }

    /** Runs what is no unit of its own in the unit of all others. */
    private static SmallNet.Units inUnits(FullyShardedDataParallel fsdp, String... units) {
        return (unit, forward) -> fsdp.run(List.of(units).contains(unit) ? unit : "", forward);
    }

    /** All parameters in the order of the module, as {@link SmallNet#weights} has them. */
    private static float[] weights(FullyShardedDataParallel fsdp, SmallNet net) {
        Map<Long, float[]> values = new HashMap<>();
        TensorVector parameters = net.parameters();
        for (ModuleUnit unit : fsdp.units()) {
            fsdp.run(
                    unit.name(),
                    () -> {
                        for (long i = 0; i < parameters.size(); i++) {
                            if (parameters.get(i).numel() > 0) {
                                values.put(i, SmallNet.values(parameters.get(i)));
                            }
                        }
                        return ones(1);
                    });
        }
        FloatBuffer all = FloatBuffer.allocate(20 * LARGE);
        LongStream.range(0, parameters.size()).forEach(i -> all.put(values.get(i)));
        return Arrays.copyOf(all.array(), all.position());
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 4})
    void theBitsAreThoseOfDistributedDataParallel(int size) {
        for (Function<TensorVector, Optimizer> optimizer : OPTIMIZERS) {
            TorchRanks.run(
                    size,
                    group -> {
                        List<float[]> expected = replicated(group, optimizer);
                        List<float[]> actual = sharded(group, optimizer, UNITS);
                        assertThat(actual).hasSameSizeAs(expected);
                        for (int i = 0; i < expected.size(); i++) {
                            assertThat(actual.get(i)).as("step " + i).isEqualTo(expected.get(i));
                        }
                    });
        }
    }

    /**
     * With more than two ranks, the order of a sum depends on the algorithm for its size. One step,
     * since a ReLU can turn a difference in the last bit into one of any size in the next.
     */
    @ParameterizedTest
    @ValueSource(ints = {2, 4})
    void largeUnitsDifferByTheOrderOfSumsOnly(int size) {
        TorchRanks.run(
                size,
                group -> {
                    Tensor[] batch = batch(0, group);
                    SmallNet own = SmallNet.seeded(1, LARGE);
                    own.loss(batch).backward();
                    float[] magnitudes = sumOfMagnitudes(group, own);
                    SmallNet net = SmallNet.seeded(1, LARGE);
                    Optimizer optimizer = sgd(net.parameters());
                    SmallNet net2 = SmallNet.seeded(1, LARGE);
                    try (DistributedDataParallel ddp = DistributedDataParallel.of(group, net);
                            FullyShardedDataParallel fsdp =
                                    FullyShardedDataParallel.of(group, net2, UNITS)) {
                        Optimizer sharded = sgd(fsdp.parameters());
                        ddp.backward(net.loss(batch));
                        optimizer.step();
                        fsdp.backward(net2.loss(batch, fsdp::run));
                        sharded.step();
                        float[] expected = SmallNet.weights(net);
                        float[] actual = weights(fsdp, net2);
                        if (size == 2) {
                            assertThat(actual).isEqualTo(expected);
                        }
                        for (int i = 0; i < expected.length; i++) {
                            // n - 1 additions on each side, of which each rounds by half a unit of
                            // at most the sum of magnitudes; then the weight itself is rounded.
                            float ofSum = 2 * (size - 1) * 0x1p-24f * magnitudes[i];
                            float bound = LEARNING_RATE * ofSum / size + Math.ulp(expected[i]);
                            assertThat(Math.abs(actual[i] - expected[i]))
                                    .as("weight %s", i)
                                    .isLessThanOrEqualTo(bound);
                        }
                    }
                });
    }

    /** The sum over all ranks of the magnitudes of their own gradients; 0 where there is none. */
    private static float[] sumOfMagnitudes(ProcessGroup group, SmallNet net) {
        FloatBuffer all = FloatBuffer.allocate(20 * LARGE);
        TensorVector parameters = net.parameters();
        for (long i = 0; i < parameters.size(); i++) {
            Tensor gradient = parameters.get(i).grad();
            all.put(
                    gradient.defined()
                            ? SmallNet.values(gradient.abs())
                            : new float[(int) parameters.get(i).numel()]);
        }
        float[] own = Arrays.copyOf(all.array(), all.position());
        try (org.jccl.Tensor sum = org.jccl.Tensor.copyOf(own)) {
            group.sync().allReduce(sum, ReduceOp.SUM);
            return sum.copyTo(own);
        }
    }

    /** Gathers more units than fit, in an order that prefetching does not know. */
    @Test
    void modulesThatAreNoUnitAreOne() {
        TorchRanks.run(
                2,
                group -> {
                    List<float[]> expected = replicated(group, OPTIMIZERS.get(1));
                    for (String[] units :
                            new String[][] {
                                {"", "hidden"}, {"hidden", ""}, {"output", "norm", "conv", ""}, {""}
                            }) {
                        List<float[]> actual = sharded(group, OPTIMIZERS.get(1), units);
                        assertThat(actual.get(STEPS)).isEqualTo(expected.get(STEPS));
                    }
                });
    }

    @Test
    void aUnitAroundAllOthersStaysWhole() {
        TorchRanks.run(
                2,
                group -> {
                    List<float[]> expected = replicated(group, OPTIMIZERS.get(0));
                    SmallNet net = SmallNet.seeded(1);
                    try (FullyShardedDataParallel fsdp =
                            FullyShardedDataParallel.of(group, net, "", "conv", "output")) {
                        Optimizer optimizer = sgd(fsdp.parameters());
                        SmallNet.Units units =
                                (unit, forward) ->
                                        unit.equals("conv") || unit.equals("output")
                                                ? fsdp.run(unit, forward)
                                                : forward.get();
                        for (int step = 0; step < STEPS; step++) {
                            optimizer.zero_grad();
                            Tensor[] batch = batch(step, group);
                            fsdp.backward(fsdp.run("", () -> net.loss(batch, units)));
                            optimizer.step();
                        }
                        assertThat(weights(fsdp, net)).isEqualTo(expected.get(STEPS));
                    }
                });
    }

    /** Passes add up, and the norm is that of all ranks' gradients together. */
    @Test
    void gradientsAccumulateAndAreClipped() {
        TorchRanks.run(
                2,
                group -> {
                    SmallNet net = SmallNet.seeded(1);
                    SmallNet whole = SmallNet.seeded(1);
                    Optimizer alone = adam(whole.parameters());
                    try (FullyShardedDataParallel fsdp =
                            FullyShardedDataParallel.of(group, net, UNITS)) {
                        Optimizer optimizer = adam(fsdp.parameters());
                        for (int step = 0; step < STEPS; step++) {
                            optimizer.zero_grad();
                            alone.zero_grad();
                            for (int pass = 0; pass < 3; pass++) {
                                Tensor[] batch = SmallNet.batch(3 * step + pass, BATCH);
                                whole.loss(batch).backward();
                                fsdp.backward(net.loss(batch(3 * step + pass, group), fsdp::run));
                            }
                            double expected = clip_grad_norm_(whole.parameters(), 0.1);
                            assertThat(fsdp.clipGradientNorm(0.1))
                                    .isCloseTo(expected, within(1e-5))
                                    .isGreaterThan(0.1);
                            assertThat(fsdp.clipGradientNorm(1)).isCloseTo(0.1, within(1e-5));
                            optimizer.step();
                            alone.step();
                        }
                        float[] expected = SmallNet.weights(whole);
                        float[] actual = weights(fsdp, net);
                        for (int i = 0; i < expected.length; i++) {
                            assertThat(actual[i]).isCloseTo(expected[i], within(1e-4f));
                        }
                    }
                });
    }

    @Test
    void anEvaluationBetweenStepsSeesTheNewParameters() {
        TorchRanks.run(
                2,
                group -> {
                    SmallNet net = SmallNet.seeded(1);
                    try (FullyShardedDataParallel fsdp =
                            FullyShardedDataParallel.of(group, net, UNITS)) {
                        Optimizer optimizer = sgd(fsdp.parameters());
                        fsdp.backward(net.loss(batch(0, group), fsdp::run));
                        Tensor gradient = fsdp.units().get(1).shard().grad();
                        assertThat(gradient.abs().sum().item_float()).isPositive();
                        // This gathers 'hidden' too, which the optimizer changes then.
                        fsdp.run("conv", () -> ones(1));
                        float old = sum(fsdp, net);
                        fsdp.run("conv", () -> ones(1));
                        optimizer.step();
                        fsdp.run("conv", () -> ones(1));
                        float changed = sum(fsdp, net);
                        fsdp.run("output", () -> ones(1));
                        assertThat(changed).isEqualTo(sum(fsdp, net)).isNotEqualTo(old);
                    }
                });
    }

    private static float sum(FullyShardedDataParallel fsdp, SmallNet net) {
        return fsdp.run("hidden", () -> net.hidden.weight().sum()).item_float();
    }

    @Test
    void theOthersTensorsComeFromRank0AndAreSaved() {
        TorchRanks.run(
                2,
                group -> {
                    SmallNet net = SmallNet.seeded(group.rank());
                    try (FullyShardedDataParallel fsdp =
                            FullyShardedDataParallel.of(group, net, UNITS)) {
                        SmallNet first = SmallNet.seeded(0);
                        assertThat(SmallNet.values(net.frozen))
                                .isEqualTo(SmallNet.values(first.frozen));
                        TorchTensors.of(net.norm.running_mean())
                                .copyFrom(new float[] {group.rank() + 1});
                        fsdp.broadcast(1);
                        assertThat(SmallNet.values(net.norm.running_mean())[0]).isEqualTo(2);
                        assertThat(fsdp).hasToString("4 units on rank " + group.rank() + " of 2");
                    }
                });
    }

    /** An exception instead of another unit's numbers. */
    @Test
    void releasedParametersAreNotRead() {
        TorchRanks.run(
                2,
                group -> {
                    SmallNet net = SmallNet.seeded(1);
                    FullyShardedDataParallel fsdp = FullyShardedDataParallel.of(group, net, UNITS);
                    Tensor weight = net.hidden.weight();
                    assertThat(weight.numel()).isZero();
                    assertThatThrownBy(() -> net.hidden.forward(ones(1, 8)))
                            .isInstanceOf(RuntimeException.class)
                            .hasMessageContaining("must be a matrix");
                    Tensor[] kept = new Tensor[2];
                    fsdp.run(
                            "hidden",
                            () -> {
                                kept[0] = net.hidden.weight().t();
                                kept[1] = net.hidden.forward(ones(1, 8)).sum();
                                assertThat(kept[0].sum().item_float()).isNotNaN();
                                return ones(1);
                            });
                    assertThat(kept[0].sum().item_float()).isNaN();
                    refused(
                            "returned a view of its parameters",
                            () -> fsdp.run("hidden", weight::t));
                    refused(
                            "other than through the result of run(\"hidden\")",
                            () -> fsdp.backward(kept[1]));
                    refused(
                            "other than through the result",
                            () -> fsdp.run("hidden", () -> ones(1)));
                    fsdp.close();
                    fsdp.close();
                    refused("is closed", () -> fsdp.run("hidden", () -> ones(1)));
                    assertThat(weight.numel()).isZero();
                    assertThat(kept[0].sum().item_float()).isNaN();
                });
    }

    @Test
    void wrongUseIsRefused() {
        TorchRanks.run(
                2,
                group -> {
                    SmallNet net = SmallNet.seeded(1);
                    refused("group is null", () -> FullyShardedDataParallel.of(null, net, UNITS));
                    refused("module is null", () -> of(group, null, "a"));
                    refused("there are no units", () -> of(group, net));
                    refused("appears twice", () -> of(group, net, "conv", "conv"));
                    refused("'hidden.weight' is in no unit", () -> of(group, net, "conv"));
                    Module tied = new Module();
                    LinearImpl in = tied.register_module("in", new LinearImpl(3, 3));
                    LinearImpl out = tied.register_module("out", new LinearImpl(3, 3));
                    out.weight().set_data(in.weight());
                    refused(
                            "parameters 'in.weight' and 'out.weight' share memory",
                            () -> of(group, tied, ""));
                    refused("'cono' has no trained parameter", () -> of(group, net, "cono", ""));
                    try (FullyShardedDataParallel fsdp = of(group, net, UNITS)) {
                        refused("no unit 'x'", () -> fsdp.run("x", () -> ones(1)));
                        refused("forward is null", () -> fsdp.run("conv", null));
                        refused("is null", () -> fsdp.run("conv", () -> null));
                        refused("loss is null", () -> fsdp.backward(null));
                        refused("there is no gradient", () -> fsdp.clipGradientNorm(1));
                        refused("maximum of the norm", () -> fsdp.clipGradientNorm(Double.NaN));
                        refused("checkpoint is null", () -> fsdp.load(null));
                        refused(
                                "run() of unit 'conv' has not ended",
                                () ->
                                        fsdp.run(
                                                "conv",
                                                () -> {
                                                    fsdp.finish();
                                                    return ones(1);
                                                }));
                        Tensor loss = net.loss(batch(0, group), fsdp::run);
                        loss.backward(
                                new Tensor(),
                                new BoolOptional(true),
                                false,
                                new TensorArrayRefOptional());
                        assertThatThrownBy(() -> fsdp.backward(loss))
                                .isInstanceOf(UsageException.class)
                                .hasMessageContaining("got a gradient twice");
                    }
                    try (FullyShardedDataParallel onlyTrained =
                            of(group, new LinearImpl(2, 1), "")) {
                        onlyTrained.broadcast(0);
                    }
                    LinearImpl other = new LinearImpl(2 + group.rank(), 1);
                    assertThatThrownBy(() -> of(group, other, ""))
                            .isInstanceOf(DifferentModelsException.class)
                            .hasMessageContaining("weight");
                });
    }

    @Test
    void aGroupThatFailsInsideBackwardIsReported() {
        TorchRanks.run(
                2,
                group -> {
                    SmallNet net = SmallNet.seeded(1);
                    try (FullyShardedDataParallel fsdp = of(group, net, UNITS)) {
                        Tensor loss = net.loss(batch(0, group), fsdp::run);
                        group.abort();
                        assertThatThrownBy(() -> fsdp.backward(loss))
                                .isInstanceOf(JcclException.class)
                                .hasMessageContaining("abort");
                        assertThatThrownBy(fsdp::finish)
                                .isInstanceOf(JcclException.class)
                                .hasMessageContaining("abort");
                    }
                });
    }

    @Test
    void aParameterIsTrainedByOneObject() {
        TorchRanks.run(
                1,
                group -> {
                    LinearImpl net = new LinearImpl(2, 1);
                    try (DistributedDataParallel ddp = DistributedDataParallel.of(group, net)) {
                        refused("is trained by another", () -> of(group, net, ""));
                        assertThat(ddp).isNotNull();
                    }
                });
    }

    private static FullyShardedDataParallel of(
            ProcessGroup group, org.bytedeco.pytorch.Module net, String... units) {
        return FullyShardedDataParallel.of(group, net, units);
    }

    private static void refused(String words, ThrowingCallable call) {
        assertThatThrownBy(call).isInstanceOf(UsageException.class).hasMessageContaining(words);
    }
}
