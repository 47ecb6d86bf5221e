package org.jccl.pytorch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;
import static org.bytedeco.pytorch.global.torch.cross_entropy_loss;
import static org.bytedeco.pytorch.global.torch.manual_seed;
import static org.bytedeco.pytorch.global.torch.ones;
import static org.bytedeco.pytorch.global.torch.randn;

import java.lang.ref.WeakReference;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.UnaryOperator;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.BatchNorm1dImpl;
import org.bytedeco.pytorch.BatchNorm2dImpl;
import org.bytedeco.pytorch.BatchNorm3dImpl;
import org.bytedeco.pytorch.BatchNormOptions;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.UsageException;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Against the layer of PyTorch in one process, with the whole batch. */
@Timeout(180)
@SuppressWarnings("try") // scopes that are only closed
class SyncBatchNormTest {

    private static final int CHANNELS = 3;
    private static final Object RANDOM = new Object();

    @BeforeAll
    static void load() {
        TorchLibrary.load();
    }

    /** A layer, and how it runs. */
    private record Layer(Module module, UnaryOperator<Tensor> forward) {

        Tensor tensor(String name) {
            return ModelTensors.of(module).get(name);
        }

        static Layer whole(int dimensions, BatchNormOptions options) {
            return switch (dimensions) {
                case 4 -> {
                    BatchNorm2dImpl layer = new BatchNorm2dImpl(options);
                    yield new Layer(layer, layer::forward);
                }
                case 5 -> {
                    BatchNorm3dImpl layer = new BatchNorm3dImpl(options);
                    yield new Layer(layer, layer::forward);
                }
                default -> {
                    BatchNorm1dImpl layer = new BatchNorm1dImpl(options);
                    yield new Layer(layer, layer::forward);
                }
            };
        }

        static Layer synchronous(ProcessGroup group, int dimensions, BatchNormOptions options) {
            return switch (dimensions) {
                case 4 -> {
                    BatchNorm2dImpl layer = new BatchNorm2dImpl(options);
                    yield new Layer(layer, SyncBatchNorm.of(group, layer)::forward);
                }
                case 5 -> {
                    BatchNorm3dImpl layer = new BatchNorm3dImpl(options);
                    yield new Layer(layer, SyncBatchNorm.of(group, layer)::forward);
                }
                default -> {
                    BatchNorm1dImpl layer = new BatchNorm1dImpl(options);
                    yield new Layer(layer, SyncBatchNorm.of(group, layer)::forward);
                }
            };
        }
    }

    private static Tensor random(long seed, long[] shape, double mean) {
        synchronized (RANDOM) {
            manual_seed(seed);
            return randn(shape).mul(new Scalar(2.0)).add(new Scalar(mean));
        }
    }

    private static void requireClose(Tensor actual, Tensor expected, double tolerance) {
        float[] a = SmallNet.values(actual.detach().contiguous());
        float[] b = SmallNet.values(expected.detach().contiguous());
        assertThat(a).hasSameSizeAs(b);
        double largest = 1;
        for (float each : b) {
            largest = Math.max(largest, Math.abs(each));
        }
        for (int i = 0; i < a.length; i++) {
            assertThat((double) a[i])
                    .as("element " + i)
                    .isCloseTo(b[i], within(tolerance * largest));
        }
    }

    private static Tensor sumOfRanks(ProcessGroup group, Tensor tensor) {
        Tensor sum = tensor.detach().clone();
        group.allReduce(TorchTensors.of(sum), ReduceOp.SUM).await();
        return sum;
    }

    /** The loss weighs each element differently, so that gradients do not cancel out. */
    private static void compare(
            ProcessGroup group,
            int[] batches,
            int dimensions,
            double mean,
            BatchNormOptions options) {
        int total = Arrays.stream(batches).sum();
        int begin = Arrays.stream(batches, 0, group.rank()).sum();
        int mine = batches[group.rank()];
        long[] shape = new long[dimensions];
        Arrays.fill(shape, 2);
        shape[0] = total;
        shape[1] = CHANNELS;
        Layer expected = Layer.whole(dimensions, options);
        Layer actual = Layer.synchronous(group, dimensions, options);
        if (options.affine().get()) {
            for (Layer layer : List.of(expected, actual)) {
                try (NoGradGuard guard = new NoGradGuard()) {
                    layer.tensor("weight").copy_(random(7, new long[] {CHANNELS}, 1));
                    layer.tensor("bias").copy_(random(8, new long[] {CHANNELS}, 0));
                }
            }
        }
        for (int step = 0; step < 3; step++) {
            Tensor whole = random(step, shape, mean).set_requires_grad(true);
            Tensor part = whole.detach().narrow(0, begin, mine).clone().set_requires_grad(true);
            Tensor weights = random(100 + step, shape, 0.5);
            Tensor output = expected.forward.apply(whole);
            output.mul(weights).sum().backward();
            Tensor normalized = actual.forward.apply(part);
            normalized.mul(weights.narrow(0, begin, mine)).sum().backward();
            requireClose(normalized, output.narrow(0, begin, mine), 1e-6);
            requireClose(part.grad(), whole.grad().narrow(0, begin, mine), 1e-6);
        }
        if (options.affine().get()) {
            for (String name : List.of("weight", "bias")) {
                requireClose(
                        sumOfRanks(group, actual.tensor(name).grad()),
                        expected.tensor(name).grad(),
                        1e-6);
            }
        }
        if (options.track_running_stats().get()) {
            for (String name : List.of("running_mean", "running_var")) {
                requireClose(actual.tensor(name), expected.tensor(name), 1e-6);
                Tensor ofRank0 = actual.tensor(name).clone();
                group.broadcast(TorchTensors.of(ofRank0), 0).await();
                assertThat(SmallNet.values(actual.tensor(name)))
                        .isEqualTo(SmallNet.values(ofRank0));
            }
            assertThat(actual.tensor("num_batches_tracked").item_long()).isEqualTo(3);
        }
        actual.module.eval();
        expected.module.eval();
        Tensor test = random(50, shape, mean);
        requireClose(actual.forward.apply(test), expected.forward.apply(test), 1e-6);
    }

    private static BatchNormOptions options() {
        return new BatchNormOptions(CHANNELS);
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3, 4, 5})
    void unevenBatchesAreNormalizedAsOne(int dimensions) {
        TorchRanks.run(3, group -> compare(group, new int[] {4, 1, 7}, dimensions, 0.3, options()));
    }

    @Test
    void aRankMayHaveNoSample() {
        TorchRanks.run(3, group -> compare(group, new int[] {4, 0, 3}, 4, -1, options()));
    }

    @Test
    void oneRankIsTheLayerItself() {
        TorchRanks.run(1, group -> compare(group, new int[] {6}, 4, 1, options()));
    }

    @Test
    void optionsAreThoseOfTheLayer() {
        TorchRanks.run(
                2,
                group -> {
                    int[] batches = {3, 5};
                    BatchNormOptions plain = options();
                    plain.affine().put(false);
                    plain.track_running_stats().put(false);
                    compare(group, batches, 4, 0, plain);
                    BatchNormOptions cumulative = options();
                    cumulative.momentum().reset();
                    cumulative.eps().put(0.1);
                    compare(group, batches, 2, 0, cumulative);
                    BatchNormOptions fast = options();
                    fast.momentum().put(0.7);
                    compare(group, batches, 2, 0, fast);
                });
    }

    /** The mean is a thousand times the deviation, which float32 sums of squares do not survive. */
    @Test
    void largeMeansLoseNoDigits() {
        TorchRanks.run(
                2,
                group -> {
                    BatchNorm1dImpl layer = new BatchNorm1dImpl(options());
                    SyncBatchNorm norm = SyncBatchNorm.of(group, layer);
                    long[] shape = {64, CHANNELS};
                    Tensor exact = random(1, shape, 3000).to(ScalarType.Double);
                    Tensor half = exact.narrow(0, 32L * group.rank(), 32).to(ScalarType.Float);
                    Tensor mean = exact.mean(new long[] {0});
                    Tensor deviation =
                            exact.var(new long[] {0}, false).add(new Scalar(1e-5)).sqrt();
                    Tensor expected =
                            exact.sub(mean)
                                    .div(deviation)
                                    .narrow(0, 32L * group.rank(), 32)
                                    .to(ScalarType.Float);
                    requireClose(norm.forward(half), expected, 1e-6);
                });
    }

    private interface Step {
        void run(int step, Tensor[] batch);
    }

    /** Beside the messages of the world, which are in flight during the backward pass. */
    private static SmallNet train(ProcessGroup group, SmallNet net, Step step) {
        int samples = 24;
        SmallNet alone = SmallNet.seeded(1);
        SGD optimizer = new SGD(alone.parameters(), new SGDOptions(0.1));
        for (int i = 0; i < 10; i++) {
            Tensor[] all = SmallNet.batch(i, samples);
            optimizer.zero_grad();
            Tensor loss = cross_entropy_loss(alone.logits(all[0], true), all[1]);
            loss.backward();
            optimizer.step();
            long part = samples / group.size();
            step.run(
                    i,
                    new Tensor[] {
                        all[0].narrow(0, group.rank() * part, part),
                        all[1].narrow(0, group.rank() * part, part)
                    });
        }
        requireClose(net.norm.running_mean(), alone.norm.running_mean(), 2e-6);
        requireClose(net.norm.running_var(), alone.norm.running_var(), 2e-6);
        return alone;
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 4})
    void trainingIsThatOfOneProcessWithTheWholeBatch(int size) {
        TorchRanks.run(
                size,
                group -> {
                    SmallNet net = SmallNet.seeded(1);
                    SGD optimizer = new SGD(net.parameters(), new SGDOptions(0.1));
                    try (ProcessGroup ofNorms = group.split(0, group.rank()).orElseThrow();
                            DistributedDataParallel ddp =
                                    DistributedDataParallel.of(
                                            group, net, o -> o.bucketBytes(64))) {
                        SyncBatchNorm norm = SyncBatchNorm.of(ofNorms, net.norm);
                        SmallNet alone =
                                train(
                                        group,
                                        net,
                                        (step, batch) -> {
                                            optimizer.zero_grad();
                                            Tensor logits =
                                                    net.logits(
                                                            batch[0],
                                                            norm::forward,
                                                            (unit, forward) -> forward.get());
                                            ddp.backward(cross_entropy_loss(logits, batch[1]));
                                            optimizer.step();
                                        });
                        float[] expected = SmallNet.weights(alone);
                        float[] actual = SmallNet.weights(net);
                        for (int i = 0; i < expected.length; i++) {
                            assertThat(actual[i]).isCloseTo(expected[i], within(2e-6f));
                        }
                    }
                });
    }

    @Test
    void dividedParametersAreNormalizedToo() {
        TorchRanks.run(
                2,
                group -> {
                    SmallNet net = SmallNet.seeded(1);
                    SyncBatchNorm norm;
                    try (ProcessGroup ofNorms = group.split(0, group.rank()).orElseThrow();
                            FullyShardedDataParallel fsdp =
                                    FullyShardedDataParallel.of(
                                            group, net, "conv", "hidden", "norm", "output")) {
                        norm = SyncBatchNorm.of(ofNorms, net.norm);
                        SGD optimizer = new SGD(fsdp.parameters(), new SGDOptions(0.1));
                        train(
                                group,
                                net,
                                (step, batch) -> {
                                    optimizer.zero_grad();
                                    Tensor logits = net.logits(batch[0], norm::forward, fsdp::run);
                                    fsdp.backward(cross_entropy_loss(logits, batch[1]));
                                    optimizer.step();
                                });
                    }
                });
    }

    @Test
    void theScopeInWhichItWasMadeMayEnd() {
        TorchRanks.run(
                1,
                group -> {
                    BatchNorm1dImpl layer = new BatchNorm1dImpl(options());
                    SyncBatchNorm norm;
                    try (PointerScope scope = new PointerScope()) {
                        norm = SyncBatchNorm.of(group, layer);
                    }
                    Tensor x = random(1, new long[] {8, CHANNELS}, 1).set_requires_grad(true);
                    try (PointerScope scope = new PointerScope()) {
                        norm.forward(x).square().sum().backward();
                    }
                    requireClose(x.grad(), torch.zeros(8, CHANNELS), 1e-4);
                });
    }

    @Test
    void sixteenBitsAreNormalizedInFloat32() {
        TorchRanks.run(
                2,
                group -> {
                    SyncBatchNorm norm = SyncBatchNorm.of(group, new BatchNorm1dImpl(options()));
                    Tensor x =
                            random(group.rank(), new long[] {8, CHANNELS}, 0)
                                    .to(ScalarType.BFloat16);
                    Tensor y = norm.forward(x);
                    assertThat(y.scalar_type().intern()).isEqualTo(ScalarType.BFloat16);
                    requireClose(
                            y.to(ScalarType.Float), norm.forward(x.to(ScalarType.Float)), 0.005);
                });
    }

    private static void refused(String words, Runnable call) {
        assertThatThrownBy(call::run)
                .isInstanceOf(UsageException.class)
                .hasMessageContaining(words);
    }

    @Test
    void wrongUseIsRefusedOnAllRanks() {
        TorchRanks.run(
                2,
                group -> {
                    BatchNorm1dImpl layer = new BatchNorm1dImpl(options());
                    SyncBatchNorm norm = SyncBatchNorm.of(group, layer);
                    refused("group is null", () -> SyncBatchNorm.of(null, layer));
                    refused("layer is null", () -> SyncBatchNorm.of(group, (BatchNorm2dImpl) null));
                    refused("input is null", () -> norm.forward(null));
                    refused("[2, 4]", () -> norm.forward(ones(2, 4)));
                    refused("[3]", () -> norm.forward(ones(3)));
                    int mine = group.rank() == 0 ? 1 : 0;
                    refused("all ranks together have 1", () -> norm.forward(ones(mine, CHANNELS)));
                    List<Float> values = new ArrayList<>();
                    for (float each : SmallNet.values(norm.forward(ones(1, CHANNELS)))) {
                        values.add(each);
                    }
                    assertThat(values).containsOnly(0f);
                });
    }

    /** A program that makes its model again would otherwise keep each old group. */
    @Test
    @Timeout(60)
    void aClosedNormalizationDoesNotKeepItsGroup() throws InterruptedException {
        WeakReference<ProcessGroup> group = closed();
        while (group.get() != null) {
            System.gc();
            Thread.sleep(10);
        }
    }

    private static WeakReference<ProcessGroup> closed() {
        ProcessGroup group =
                (ProcessGroup)
                        Proxy.newProxyInstance(
                                ProcessGroup.class.getClassLoader(),
                                new Class<?>[] {ProcessGroup.class},
                                (self, method, arguments) ->
                                        method.getName().equals("name") ? "norms" : (Object) 0);
        BatchNorm1dImpl layer = new BatchNorm1dImpl(new BatchNormOptions(CHANNELS));
        SyncBatchNorm norm = SyncBatchNorm.of(group, layer);
        norm.close();
        norm.close();
        assertThatThrownBy(() -> norm.forward(Tensor.create(new float[] {1})))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("is closed");
        return new WeakReference<>(group);
    }
}
