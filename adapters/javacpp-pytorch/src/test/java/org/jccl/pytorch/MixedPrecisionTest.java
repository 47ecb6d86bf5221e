package org.jccl.pytorch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;
import static org.bytedeco.pytorch.global.torch.ones;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.DeviceType;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.jccl.ProcessGroup;
import org.jccl.UsageException;
import org.jccl.training.DifferentModelsException;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Autocast, and the scaling of losses whose overflows all ranks share. */
@Timeout(180)
@SuppressWarnings("try") // scopes that are only closed
class MixedPrecisionTest {

    private static final String[] UNITS = {"conv", "hidden", "norm", "output"};
    private static final int BATCH = 24;
    private static final int STEPS = 8;

    /** In this step, gradients of one rank are not finite. */
    private static final int OVERFLOW = 3;

    private static final double SCALE = 1024;

    @BeforeAll
    static void load() {
        TorchLibrary.load();
    }

    private static Tensor[] batch(int step, ProcessGroup group) {
        Tensor[] all = SmallNet.batch(step, BATCH);
        long size = BATCH / group.size();
        return new Tensor[] {
            all[0].narrow(0, group.rank() * size, size), all[1].narrow(0, group.rank() * size, size)
        };
    }

    private static SGD sgd(TensorVector parameters) {
        SGDOptions options = new SGDOptions(0.05);
        options.momentum().put(0.9);
        return new SGD(parameters, options);
    }

    /** One element of the last gradient. */
    private static void spoil(Optimizer optimizer, double value) {
        List<Tensor> parameters = OptimizerState.groups(optimizer).get(0);
        parameters
                .get(parameters.size() - 1)
                .grad()
                .view(-1)
                .narrow(0, 0, 1)
                .fill_(new Scalar(value));
    }

    /** Without a scaler, and without the step that is skipped. */
    private static float[] unscaled(ProcessGroup group) {
        SmallNet net = SmallNet.seeded(1);
        Optimizer optimizer = sgd(net.parameters());
        try (DistributedDataParallel ddp = DistributedDataParallel.of(group, net)) {
            for (int step = 0; step < STEPS; step++) {
                if (step != OVERFLOW) {
                    optimizer.zero_grad();
                    ddp.backward(net.loss(batch(step, group)));
                    optimizer.step();
                }
            }
        }
        return SmallNet.weights(net);
    }

    @ParameterizedTest
    @ValueSource(doubles = {Double.POSITIVE_INFINITY, Double.NaN})
    void anOverflowOfOneRankSkipsTheStepOfAll(double value) {
        TorchRanks.run(
                2,
                group -> {
                    SmallNet net = SmallNet.seeded(1);
                    Optimizer optimizer = sgd(net.parameters());
                    GradientScaler scaler = GradientScaler.of(group, SCALE, 2000);
                    try (DistributedDataParallel ddp = DistributedDataParallel.of(group, net)) {
                        for (int step = 0; step < STEPS; step++) {
                            optimizer.zero_grad();
                            ddp.backward(scaler.scale(net.loss(batch(step, group))));
                            if (step == OVERFLOW && group.rank() == 1) {
                                spoil(optimizer, value);
                            }
                            float[] before = SmallNet.weights(net);
                            assertThat(scaler.step(optimizer)).isEqualTo(step != OVERFLOW);
                            if (step == OVERFLOW) {
                                assertThat(SmallNet.weights(net)).isEqualTo(before);
                            }
                            assertThat(scaler.scale())
                                    .isEqualTo(step < OVERFLOW ? SCALE : SCALE / 2);
                        }
                    }
                    assertThat(SmallNet.weights(net)).isEqualTo(unscaled(group));
                });
    }

    /** Only one rank has the part of the gradient that overflows. */
    @Test
    void anOverflowInThePartOfOneRankSkipsTheStepOfAll() {
        TorchRanks.run(
                2,
                group -> {
                    SmallNet net = SmallNet.seeded(1);
                    try (FullyShardedDataParallel fsdp =
                            FullyShardedDataParallel.of(group, net, UNITS)) {
                        Optimizer optimizer = sgd(fsdp.parameters());
                        GradientScaler scaler = GradientScaler.of(group, SCALE, 2000);
                        for (int step = 0; step < STEPS; step++) {
                            optimizer.zero_grad();
                            fsdp.backward(scaler.scale(net.loss(batch(step, group), fsdp::run)));
                            if (step == OVERFLOW && group.rank() == 0) {
                                spoil(optimizer, Double.NEGATIVE_INFINITY);
                            }
                            assertThat(scaler.step(optimizer)).isEqualTo(step != OVERFLOW);
                        }
                        assertThat(scaler.scale()).isEqualTo(SCALE / 2);
                        assertThat(wholeWeights(fsdp, net)).isEqualTo(unscaled(group));
                    }
                });
    }

    /** Gathers one unit after the other. */
    private static float[] wholeWeights(FullyShardedDataParallel fsdp, SmallNet net) {
        List<float[]> parts = new ArrayList<>();
        for (String unit : UNITS) {
            fsdp.run(
                    unit,
                    () -> {
                        ModelTensors.of(net)
                                .forEach(
                                        (name, tensor) -> {
                                            if (name.startsWith(unit + ".")
                                                    && tensor.requires_grad()) {
                                                parts.add(SmallNet.values(tensor));
                                            }
                                        });
                        return ones(1);
                    });
        }
        parts.add(0, SmallNet.values(net.frozen));
        int count = parts.stream().mapToInt(part -> part.length).sum();
        float[] all = new float[count];
        int at = 0;
        for (float[] part : parts) {
            System.arraycopy(part, 0, all, at, part.length);
            at += part.length;
        }
        return all;
    }

    @Test
    void theScaleGrowsAndContinuesAfterASave() {
        TorchRanks.run(
                2,
                group -> {
                    LinearImpl net = new LinearImpl(2, 1);
                    Optimizer optimizer = sgd(net.parameters());
                    GradientScaler scaler = GradientScaler.of(group, 8, 3);
                    List<Double> scales = new ArrayList<>();
                    for (int step = 0; step < 10; step++) {
                        optimizer.zero_grad();
                        scaler.scale(net.forward(ones(1, 2)).sum()).backward();
                        if (step == 4) {
                            spoil(optimizer, Double.NaN);
                        }
                        scaler.step(optimizer);
                        scales.add(scaler.scale());
                        if (step % 2 == 1) {
                            GradientScaler other = GradientScaler.of(group, 1, 3);
                            other.load(scaler.texts());
                            scaler = other;
                        }
                    }
                    assertThat(scales)
                            .containsExactly(8.0, 8.0, 16.0, 16.0, 8.0, 8.0, 8.0, 16.0, 16.0, 16.0);
                });
    }

    @Test
    void ranksWithDifferentScalesGetAnExceptionBeforeTheStep() {
        TorchRanks.run(
                3,
                group -> {
                    LinearImpl net = new LinearImpl(2, 1);
                    Optimizer optimizer = sgd(net.parameters());
                    GradientScaler scaler =
                            GradientScaler.of(group, group.rank() == 1 ? 512 : 1024, 2000);
                    scaler.scale(net.forward(ones(1, 2)).sum()).backward();
                    float[] before = SmallNet.weights(net);
                    assertThatThrownBy(() -> scaler.step(optimizer))
                            .isInstanceOf(DifferentModelsException.class)
                            .hasMessageContaining("from 512.0 to 1024.0");
                    assertThat(SmallNet.weights(net)).isEqualTo(before);

                    GradientScaler resumed = GradientScaler.of(group);
                    if (group.rank() == 2) {
                        resumed.load(
                                Map.of(
                                        "gradient_scaler.scale", "65536",
                                        "gradient_scaler.steps", "7"));
                    }
                    assertThatThrownBy(() -> resumed.step(optimizer))
                            .isInstanceOf(DifferentModelsException.class)
                            .hasMessageContaining("unchanged for 0 to 7 steps");
                });
    }

    @Test
    void gradientsThatAreNeverFiniteEndTheTraining() {
        TorchRanks.run(
                2,
                group -> {
                    LinearImpl net = new LinearImpl(2, 1);
                    Optimizer optimizer = sgd(net.parameters());
                    GradientScaler scaler = GradientScaler.of(group, 0x1p-22, 2000);
                    net.forward(ones(1, 2)).sum().backward();
                    if (group.rank() == 0) {
                        spoil(optimizer, Double.NaN);
                    }
                    assertThat(scaler.step(optimizer)).isFalse();
                    assertThat(scaler.step(optimizer)).isFalse();
                    refused("not finite at a scale of " + 0x1p-24, () -> scaler.step(optimizer));
                });
    }

    /** Without scaling, these gradients are zero in float16. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void smallGradientsOfHalfSurvive(int size) {
        TorchRanks.run(
                size,
                group -> {
                    SmallNet net = SmallNet.seeded(1);
                    Optimizer optimizer = sgd(net.parameters());
                    GradientScaler scaler = GradientScaler.of(group);
                    Scalar small = new Scalar(1e-8);
                    float[][] gradients = new float[2][];
                    try (DistributedDataParallel ddp = DistributedDataParallel.of(group, net)) {
                        for (int scaled = 0; scaled < 2; scaled++) {
                            optimizer.zero_grad();
                            Tensor loss;
                            try (Autocast scope = Autocast.of(DeviceType.CPU, ScalarType.Half)) {
                                assertThat(net.logits(ones(2, 16), false).scalar_type().intern())
                                        .isEqualTo(ScalarType.Half);
                                loss = net.loss(batch(0, group)).mul(small);
                            }
                            ddp.backward(scaled == 0 ? loss : scaler.scale(loss));
                            if (scaled == 1) {
                                scaler.unscale(optimizer);
                            }
                            gradients[scaled] = SmallNet.values(net.hidden.weight().grad());
                        }
                    }
                    float[] exact;
                    try (DistributedDataParallel ddp = DistributedDataParallel.of(group, net)) {
                        optimizer.zero_grad();
                        ddp.backward(net.loss(batch(0, group)).mul(small));
                        exact = SmallNet.values(net.hidden.weight().grad());
                    }
                    float largest = 0;
                    for (int i = 0; i < exact.length; i++) {
                        assertThat(gradients[0][i]).isZero();
                        largest = Math.max(largest, Math.abs(exact[i]));
                    }
                    for (int i = 0; i < exact.length; i++) {
                        assertThat(gradients[1][i]).isCloseTo(exact[i], within(largest * 0.02f));
                    }
                });
    }

    private interface Forward {
        Tensor loss(int step);
    }

    private interface Backward {
        void run(Tensor loss);
    }

    /** Returns the losses; without autocast if the type is null. */
    private static List<Float> train(
            ProcessGroup group,
            Optimizer optimizer,
            ScalarType type,
            Forward forward,
            Backward backward) {
        List<Float> losses = new ArrayList<>();
        GradientScaler scaler = GradientScaler.of(group);
        for (int step = 0; step < 20; step++) {
            optimizer.zero_grad();
            Tensor loss;
            try (Autocast scope = type == null ? null : Autocast.of(DeviceType.CPU, type)) {
                loss = forward.loss(step);
            }
            backward.run(scaler.scale(loss));
            scaler.step(optimizer);
            losses.add(loss.item_float());
        }
        return losses;
    }

    private static List<Float> whole(ProcessGroup group, ScalarType type) {
        SmallNet net = SmallNet.seeded(1);
        try (DistributedDataParallel ddp = DistributedDataParallel.of(group, net)) {
            List<Float> losses =
                    train(
                            group,
                            sgd(net.parameters()),
                            type,
                            step -> net.loss(batch(step, group)),
                            ddp::backward);
            assertThat(net.hidden.weight().scalar_type().intern()).isEqualTo(ScalarType.Float);
            return losses;
        }
    }

    /** Parameters stay float32, and divided parameters compute the same bits. */
    @ParameterizedTest
    @EnumSource(
            value = ScalarType.class,
            names = {"BFloat16", "Half"})
    void trainingWithAutocastIsTheSameWithWholeAndDividedParameters(ScalarType type) {
        TorchRanks.run(
                2,
                group -> {
                    List<Float> exact = whole(group, null);
                    List<Float> rounded = whole(group, type);
                    assertThat(rounded).isNotEqualTo(exact);
                    for (int step = 0; step < exact.size(); step++) {
                        assertThat(rounded.get(step))
                                .as("step " + step)
                                .isCloseTo(exact.get(step), within(0.02f));
                    }
                    SmallNet net = SmallNet.seeded(1);
                    try (FullyShardedDataParallel fsdp =
                            FullyShardedDataParallel.of(group, net, UNITS)) {
                        List<Float> divided =
                                train(
                                        group,
                                        sgd(fsdp.parameters()),
                                        type,
                                        step -> net.loss(batch(step, group), fsdp::run),
                                        fsdp::backward);
                        assertThat(divided).isEqualTo(rounded);
                    }
                });
    }

    @Test
    void autocastScopesRestoreWhatWasBefore() throws Exception {
        boolean cached = torch.is_autocast_cache_enabled();
        ScalarType type = torch.get_autocast_dtype(DeviceType.CPU).intern();
        LinearImpl net = new LinearImpl(2, 2);
        try (Autocast outer = Autocast.of(DeviceType.CPU, ScalarType.Half)) {
            Autocast inner = Autocast.of(DeviceType.CPU, ScalarType.BFloat16);
            assertThat(net.forward(ones(1, 2)).scalar_type().intern())
                    .isEqualTo(ScalarType.BFloat16);
            Thread[] other = new Thread[1];
            List<Throwable> thrown = new ArrayList<>();
            other[0] =
                    new Thread(
                            () -> {
                                try {
                                    inner.close();
                                } catch (UsageException e) {
                                    thrown.add(e);
                                }
                            });
            other[0].start();
            other[0].join();
            assertThat(thrown).hasSize(1);
            inner.close();
            inner.close();
            assertThat(net.forward(ones(1, 2)).scalar_type().intern()).isEqualTo(ScalarType.Half);
        }
        assertThat(torch.is_autocast_enabled(DeviceType.CPU)).isFalse();
        assertThat(torch.get_autocast_dtype(DeviceType.CPU).intern()).isEqualTo(type);
        assertThat(torch.is_autocast_cache_enabled()).isEqualTo(cached);
        assertThat(net.forward(ones(1, 2)).scalar_type().intern()).isEqualTo(ScalarType.Float);
    }

    /** A step of the optimizer within the scope counts. */
    @Test
    void autocastUsesTheWeightsOfNow() {
        LinearImpl net = new LinearImpl(2, 1);
        SGD optimizer = new SGD(net.parameters(), new SGDOptions(1));
        try (Autocast scope = Autocast.of(DeviceType.CPU, ScalarType.BFloat16)) {
            Tensor before = net.forward(ones(1, 2)).sum();
            before.backward();
            optimizer.step();
            float after = net.forward(ones(1, 2)).sum().item_float();
            assertThat(after).isCloseTo(before.item_float() - 3, within(0.1f));
        }
    }

    private static void refused(String words, ThrowingCallable call) {
        assertThatThrownBy(call).isInstanceOf(UsageException.class).hasMessageContaining(words);
    }

    @Test
    void wrongUseIsRefused() {
        TorchRanks.run(
                1,
                group -> {
                    LinearImpl net = new LinearImpl(2, 1);
                    SGD optimizer = new SGD(net.parameters(), new SGDOptions(0.1));
                    GradientScaler scaler = GradientScaler.of(group);
                    refused("group is null", () -> GradientScaler.of(null));
                    for (double scale : new double[] {0, -1, Double.NaN, 1 / 0.0}) {
                        refused("scale is " + scale, () -> GradientScaler.of(group, scale, 1));
                    }
                    refused("interval is 0", () -> GradientScaler.of(group, 1, 0));
                    refused("loss is null", () -> scaler.scale(null));
                    refused("optimizer is null", () -> scaler.unscale(null));
                    refused("optimizer is null", () -> scaler.step(null));
                    scaler.unscale(optimizer);
                    refused("unscaled already", () -> scaler.unscale(optimizer));
                    assertThat(scaler.step(optimizer)).isTrue();
                    refused("texts is null", () -> scaler.load(null));
                    refused("lack a number", () -> scaler.load(Map.of()));
                    refused(
                            "lack a number",
                            () -> scaler.load(Map.of("gradient_scaler.scale", "1")));
                    refused("for BFloat16 and Half", () -> Autocast.of(DeviceType.CPU, null));
                    refused(
                            "for BFloat16 and Half",
                            () -> Autocast.of(DeviceType.CPU, ScalarType.Float));
                    refused("no autocast for null", () -> Autocast.of(null, ScalarType.Half));
                    LinearImpl half = new LinearImpl(2, 1);
                    half.to(ScalarType.Half, false);
                    half.forward(ones(1, 2).to(ScalarType.Half)).sum().backward();
                    refused(
                            "type Half; keep parameters in float32",
                            () -> scaler.step(new SGD(half.parameters(), new SGDOptions(0.1))));
                });
    }
}
