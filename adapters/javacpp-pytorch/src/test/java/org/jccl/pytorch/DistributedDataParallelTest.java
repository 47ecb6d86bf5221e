package org.jccl.pytorch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;
import static org.bytedeco.pytorch.global.torch.embedding;
import static org.bytedeco.pytorch.global.torch.ones;
import static org.bytedeco.pytorch.global.torch.zeros;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorBase;
import org.bytedeco.pytorch.VoidTensorHook;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.jccl.JcclException;
import org.jccl.ProcessGroup;
import org.jccl.UsageException;
import org.jccl.Work;
import org.jccl.training.DifferentModelsException;
import org.jccl.training.GradientReducer;
import org.jccl.training.GradientReducerBuilder;
import org.jccl.training.MissingGradientException;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class DistributedDataParallelTest {

    private static final int STEPS = 30;
    private static final int BATCH = 24;

    /** Every parameter in a bucket of its own, so that several are under way. */
    private static final Consumer<GradientReducerBuilder> SMALL_BUCKETS =
            options -> options.firstBucketBytes(1).bucketBytes(1);

    @BeforeAll
    static void load() {
        TorchLibrary.load();
    }

    private static SGD sgd(Module module) {
        SGDOptions options = new SGDOptions(0.1);
        options.momentum().put(0.9);
        return new SGD(module.parameters(), options);
    }

    private static Tensor[] part(Tensor[] batch, ProcessGroup group) {
        long size = batch[0].size(0) / group.size();
        return new Tensor[] {
            batch[0].narrow(0, group.rank() * size, size),
            batch[1].narrow(0, group.rank() * size, size)
        };
    }

    private static float[] alone() {
        SmallNet net = SmallNet.seeded(1);
        SGD optimizer = sgd(net);
        for (int step = 0; step < STEPS; step++) {
            optimizer.zero_grad();
            net.loss(SmallNet.batch(step, BATCH)).backward();
            optimizer.step();
        }
        return SmallNet.weights(net);
    }

    private static void expectClose(float[] weights, float[] expected) {
        assertThat(weights).hasSameSizeAs(expected);
        for (int i = 0; i < expected.length; i++) {
            assertThat(weights[i]).as("weight " + i).isCloseTo(expected[i], within(1e-4f));
        }
    }

    /** The same bits on all ranks: compared through the sum of what each has. */
    private static void expectSameBits(ProcessGroup group, float[] weights) {
        int[] bits = new int[weights.length];
        for (int i = 0; i < bits.length; i++) {
            bits[i] = Float.floatToRawIntBits(weights[i]);
        }
        try (org.jccl.Tensor mine = org.jccl.Tensor.copyOf(bits);
                org.jccl.Tensor all = org.jccl.Tensor.copyOf(new int[bits.length * group.size()])) {
            group.allGatherSingle(all, mine).await();
            int[] gathered = all.copyTo(new int[bits.length * group.size()]);
            for (int rank = 0; rank < group.size(); rank++) {
                assertThat(
                                Arrays.copyOfRange(
                                        gathered, rank * bits.length, (rank + 1) * bits.length))
                        .as("bits of rank " + rank)
                        .isEqualTo(bits);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 4})
    void ranksLearnWhatOneProcessLearns(int size) {
        float[] alone = alone();
        assertThat(alone).isNotEqualTo(SmallNet.weights(SmallNet.seeded(1)));
        for (Consumer<GradientReducerBuilder> options :
                List.<Consumer<GradientReducerBuilder>>of(none -> {}, SMALL_BUCKETS)) {
            TorchRanks.run(
                    size,
                    group -> {
                        SmallNet net = SmallNet.seeded(group.rank() == 0 ? 1 : 99 + group.rank());
                        SGD optimizer = sgd(net);
                        try (DistributedDataParallel ddp =
                                DistributedDataParallel.of(group, net, options)) {
                            for (int step = 0; step < STEPS; step++) {
                                // As programs do it, to have the memory of a step back.
                                try (PointerScope scope = new PointerScope()) {
                                    optimizer.zero_grad(step % 3 != 0);
                                    Tensor[] batch = part(SmallNet.batch(step, BATCH), group);
                                    if (step % 2 == 0) {
                                        ddp.backward(net.loss(batch));
                                    } else {
                                        net.loss(batch).backward();
                                        ddp.finish();
                                    }
                                    optimizer.step();
                                    assertThat(scope.toString()).isNotNull();
                                }
                            }
                        }
                        float[] weights = SmallNet.weights(net);
                        expectSameBits(group, weights);
                        expectClose(weights, alone);
                    });
        }
    }

    @Test
    void gradientsLieInBucketsAndOutliveThem() {
        TorchRanks.run(
                2,
                group -> {
                    LinearImpl net = new LinearImpl(3, 2);
                    List<Tensor> kept = new ArrayList<>();
                    try (DistributedDataParallel ddp =
                            DistributedDataParallel.of(group, net, SMALL_BUCKETS)) {
                        assertThat(ddp).hasToString("2 gradients in 2 buckets on cpu");
                        long[] addresses = new long[3];
                        for (int step = 0; step < 3; step++) {
                            if (step > 0) {
                                net.weight().grad().zero_();
                                net.bias().grad().zero_();
                            }
                            ddp.backward(net.forward(ones(2, 3)).sum());
                            assertThat(SmallNet.values(net.weight().grad())).containsOnly(2);
                            assertThat(SmallNet.values(net.bias().grad())).containsOnly(2);
                            kept.add(new Tensor(net.weight().grad()));
                            addresses[step] = TorchTensors.address(net.weight().grad());
                        }
                        assertThat(addresses[2]).isEqualTo(addresses[1]);
                    }
                    for (int i = 0; i < 100; i++) {
                        zeros(6).close();
                    }
                    for (Tensor gradient : kept) {
                        assertThat(SmallNet.values(gradient)).containsOnly(2);
                    }
                });
    }

    @Test
    void buffersAndFrozenParametersComeFromRank0() {
        TorchRanks.run(
                3,
                group -> {
                    SmallNet net = SmallNet.seeded(group.rank());
                    Tensor mean = net.norm.running_mean();
                    TorchTensors.of(mean).copyFrom(filled(10, group.rank() + 5));
                    try (DistributedDataParallel ddp = DistributedDataParallel.of(group, net)) {
                        assertThat(SmallNet.values(mean)).containsOnly(5);
                        expectSameBits(group, SmallNet.values(net.frozen));
                        TorchTensors.of(mean).copyFrom(filled(10, group.rank()));
                        ddp.broadcast(2);
                        assertThat(SmallNet.values(mean)).containsOnly(2);
                        assertThatThrownBy(() -> ddp.broadcast(3))
                                .isInstanceOf(UsageException.class);
                    }
                });
    }

    private static float[] filled(int count, float value) {
        float[] values = new float[count];
        Arrays.fill(values, value);
        return values;
    }

    @Test
    void bucketsAreUnderWayInsideBackward() {
        TorchRanks.run(
                2,
                group -> {
                    Tensor first = parameter(4);
                    Tensor second = parameter(4);
                    Map<String, Tensor> parameters = new LinkedHashMap<>();
                    parameters.put("first", first);
                    parameters.put("second", second);
                    try (DistributedDataParallel ddp =
                            DistributedDataParallel.of(group, parameters, SMALL_BUCKETS)) {
                        float factor = group.rank() + 1;
                        Tensor loss = second.mul(first.mul(ones(4))).sum().mul(scalar(factor));
                        long before = position(group);
                        loss.backward();
                        // Of the two buckets only the last one still waits for finish().
                        assertThat(position(group) - before - 1).isEqualTo(1);
                        ddp.finish();
                        assertThat(SmallNet.values(first.grad())).containsOnly(1.5f);
                        assertThat(SmallNet.values(second.grad())).containsOnly(1.5f);
                    }
                });
    }

    /** The number of an operation of the group that begins now. */
    private static long position(ProcessGroup group) {
        Work work = group.barrier();
        work.await();
        return work.sequence();
    }

    private static Tensor parameter(long count) {
        Tensor tensor = ones(count);
        tensor.set_requires_grad(true);
        return tensor;
    }

    private static Tensor scalar(float value) {
        Tensor tensor = zeros(1);
        TorchTensors.of(tensor).copyFrom(new float[] {value});
        return tensor;
    }

    @Test
    void accumulatesWithoutSync() {
        TorchRanks.run(
                2,
                group -> {
                    Tensor w = parameter(4);
                    Tensor once = parameter(2);
                    Map<String, Tensor> parameters = new LinkedHashMap<>();
                    parameters.put("w", w);
                    parameters.put("once", once);
                    try (DistributedDataParallel ddp =
                            DistributedDataParallel.of(group, parameters, options -> {})) {
                        float mine = group.rank() + 1;
                        for (int round = 0; round < 3; round++) {
                            w.mutable_grad().put(new Tensor());
                            once.mutable_grad().put(new Tensor());
                            try (GradientReducer.NoSync outer = ddp.noSync()) {
                                ddp.backward(once.sum().add(w.sum()).mul(scalar(mine)));
                                assertThat(SmallNet.values(w.grad())).containsOnly(mine);
                                try (GradientReducer.NoSync inner = ddp.noSync()) {
                                    assertThat(inner).isNotSameAs(outer);
                                    w.sum().mul(scalar(mine)).backward();
                                }
                            }
                            ddp.backward(w.sum().mul(scalar(10 * mine)));
                            assertThat(SmallNet.values(w.grad())).containsOnly(18);
                            assertThat(SmallNet.values(once.grad())).containsOnly(1.5f);
                        }
                        w.sum().backward();
                        refused("within a step", ddp::noSync);
                    }
                });
    }

    @Test
    void unusedParametersCountAsZeroAndStayWithoutAGradientWhereNobodyHasThem() {
        TorchRanks.run(
                2,
                group -> {
                    Tensor both = parameter(2);
                    Tensor one = parameter(2);
                    Tensor nobody = parameter(2);
                    Map<String, Tensor> parameters = new LinkedHashMap<>();
                    parameters.put("both", both);
                    parameters.put("one", one);
                    parameters.put("nobody", nobody);
                    try (DistributedDataParallel ddp =
                            DistributedDataParallel.of(
                                    group, parameters, options -> options.unusedGradients(true))) {
                        for (int step = 0; step < 3; step++) {
                            parameters.values().forEach(p -> p.mutable_grad().put(new Tensor()));
                            Tensor sum = both.sum();
                            ddp.backward(group.rank() == 0 ? sum : sum.add(one.sum()));
                            assertThat(SmallNet.values(both.grad())).containsOnly(1);
                            assertThat(SmallNet.values(one.grad())).containsOnly(0.5f);
                            assertThat(nobody.grad().defined()).isFalse();
                        }
                    }
                });
    }

    @Test
    void aGradientOfAnEarlierPassStaysWhereNobodyHasTheParameterNow() {
        TorchRanks.run(
                2,
                group -> {
                    Tensor often = parameter(2);
                    Tensor once = parameter(2);
                    Map<String, Tensor> parameters = new LinkedHashMap<>();
                    parameters.put("often", often);
                    parameters.put("once", once);
                    try (DistributedDataParallel ddp =
                            DistributedDataParallel.of(
                                    group, parameters, options -> options.unusedGradients(true))) {
                        ddp.backward(often.sum().add(once.sum()));
                        ddp.backward(often.sum());
                        assertThat(SmallNet.values(often.grad())).containsOnly(2);
                        assertThat(SmallNet.values(once.grad())).containsOnly(1);
                    }
                });
    }

    @Test
    void ranksMayHaveDifferentNumbersOfBatches() {
        TorchRanks.run(
                3,
                group -> {
                    SmallNet net = SmallNet.seeded(group.rank());
                    SGD optimizer = sgd(net);
                    try (DistributedDataParallel ddp =
                            DistributedDataParallel.of(
                                    group, net, options -> options.unevenInputs(true))) {
                        for (int epoch = 0; epoch < 2; epoch++) {
                            for (int step = 0; step < 2 + group.rank(); step++) {
                                optimizer.zero_grad();
                                ddp.backward(net.loss(SmallNet.batch(step, 6)));
                                optimizer.step();
                            }
                            ddp.join();
                            expectSameBits(group, SmallNet.weights(net));
                        }
                    }
                });
    }

    @Test
    void layersMayShareParameters() {
        TorchRanks.run(
                2,
                group -> {
                    LinearImpl net = new LinearImpl(3, 3);
                    net.register_parameter("again", net.weight());
                    try (DistributedDataParallel ddp = DistributedDataParallel.of(group, net)) {
                        Tensor x = ones(1, 3);
                        ddp.backward(x.mm(net.weight()).add(net.forward(x)).sum());
                        assertThat(SmallNet.values(net.weight().grad())).containsOnly(2);
                        assertThat(ddp).hasToString("2 gradients in 1 bucket on cpu");
                    }
                });
    }

    /** Tied weights, as of the input and the output of a language model. */
    @Test
    void parametersMayShareTheirMemory() {
        TorchRanks.run(
                2,
                group -> {
                    Module net = new Module();
                    LinearImpl in = net.register_module("in", new LinearImpl(3, 3));
                    LinearImpl out = net.register_module("out", new LinearImpl(3, 3));
                    out.weight().set_data(in.weight());
                    try (DistributedDataParallel ddp = DistributedDataParallel.of(group, net)) {
                        Tensor x = ones(1, 3).mul(new Scalar(1 + 2 * group.rank()));
                        ddp.backward(in.forward(x).add(out.forward(x).mul(x)).sum());
                        assertThat(SmallNet.values(in.weight().grad())).containsOnly(2);
                        assertThat(SmallNet.values(out.weight().grad())).containsOnly(5);
                        assertThat(out.weight().data_ptr().address())
                                .isEqualTo(in.weight().data_ptr().address());
                    }
                });
    }

    @Test
    void otherTypesAreTrainedToo() {
        for (ScalarType type : List.of(ScalarType.Double, ScalarType.BFloat16, ScalarType.Half)) {
            TorchRanks.run(
                    2,
                    group -> {
                        Tensor w = ones(5).to(type).set_requires_grad(true);
                        Tensor plain = parameter(3);
                        Map<String, Tensor> parameters = new LinkedHashMap<>();
                        parameters.put("w", w);
                        parameters.put("plain", plain);
                        try (DistributedDataParallel ddp =
                                DistributedDataParallel.of(group, parameters, options -> {})) {
                            float mine = 2 * group.rank();
                            Tensor sum = w.sum().to(ScalarType.Float).add(plain.sum());
                            ddp.backward(sum.mul(scalar(mine)));
                            assertThat(SmallNet.values(w.grad().to(ScalarType.Float)))
                                    .containsOnly(1);
                            assertThat(SmallNet.values(plain.grad())).containsOnly(1);
                        }
                    });
        }
    }

    private static void refused(String words, ThrowingCallable call) {
        assertThatThrownBy(call).isInstanceOf(UsageException.class).hasMessageContaining(words);
    }

    @Test
    void differentModelsAreNamed() {
        TorchRanks.run(
                2,
                group -> {
                    SmallNet net = SmallNet.seeded(1, 10 + group.rank());
                    float[] before = SmallNet.weights(net);
                    assertThatThrownBy(() -> DistributedDataParallel.of(group, net))
                            .isInstanceOf(DifferentModelsException.class)
                            .hasMessageContaining(
                                    "rank 0 has 'hidden.weight' (float32 [10, 8]), rank 1 has"
                                            + " 'hidden.weight' (float32 [11, 8])");
                    assertThat(SmallNet.weights(net)).isEqualTo(before);
                    // The same count, and yet another shape.
                    LinearImpl layer =
                            group.rank() == 0 ? new LinearImpl(2, 6) : new LinearImpl(6, 2);
                    assertThatThrownBy(() -> DistributedDataParallel.of(group, layer))
                            .isInstanceOf(DifferentModelsException.class)
                            .hasMessageContaining("[6, 2]), rank 1 has 'weight' (float32 [2, 6])");
                    Tensor w = ones(3);
                    w.set_requires_grad(group.rank() == 0);
                    Tensor both = parameter(3);
                    Map<String, Tensor> frozenOnOne = new LinkedHashMap<>();
                    frozenOnOne.put("both", both);
                    frozenOnOne.put("w", w);
                    assertThatThrownBy(
                                    () ->
                                            DistributedDataParallel.of(
                                                    group, frozenOnOne, options -> {}))
                            .isInstanceOf(DifferentModelsException.class)
                            .hasMessageContaining("'w' (float32 x 3), rank 1 has nothing there");
                    LinearImpl same = new LinearImpl(2, 2);
                    boolean unused = group.rank() == 0;
                    assertThatThrownBy(
                                    () ->
                                            DistributedDataParallel.of(
                                                    group,
                                                    same,
                                                    options -> options.unusedGradients(unused)))
                            .isInstanceOf(DifferentModelsException.class)
                            .hasMessageContaining("unusedGradients true");
                });
    }

    @Test
    void aGradientThatNeverComesIsNamedOnAllRanks() {
        TorchRanks.run(
                2,
                group -> {
                    Tensor w = parameter(2);
                    Tensor forgotten = parameter(3);
                    Map<String, Tensor> parameters = new LinkedHashMap<>();
                    parameters.put("w", w);
                    parameters.put("forgotten", forgotten);
                    try (DistributedDataParallel ddp =
                            DistributedDataParallel.of(group, parameters, SMALL_BUCKETS)) {
                        for (int step = 0; step < 3; step++) {
                            boolean all = group.rank() == 0 || step == 2;
                            parameters.values().forEach(p -> p.mutable_grad().put(new Tensor()));
                            Tensor loss = all ? w.sum().add(forgotten.sum()) : w.sum();
                            if (step < 2) {
                                assertThatThrownBy(() -> ddp.backward(loss))
                                        .isInstanceOf(MissingGradientException.class)
                                        .hasMessageContaining(
                                                "'forgotten' (float32 x 3) on rank 1");
                            } else {
                                ddp.backward(loss);
                                assertThat(SmallNet.values(forgotten.grad())).containsOnly(1);
                            }
                        }
                    }
                });
    }

    @Test
    void whatFailsInsideAHookReachesTheProgram() {
        TorchRanks.run(
                2,
                group -> {
                    LinearImpl net = new LinearImpl(3, 2);
                    try (DistributedDataParallel ddp = DistributedDataParallel.of(group, net)) {
                        ddp.backward(net.forward(ones(1, 3)).sum());
                        net.forward(ones(1, 3)).sum().backward();
                        // finish() was forgotten.
                        refused(
                                "became ready twice in one step; finish() ends a step",
                                () -> ddp.backward(net.forward(ones(1, 3)).sum()));
                        refused("became ready twice", ddp::finish);
                        assertThatThrownBy(() -> net.forward(ones(1, 3)).sum().backward())
                                .isInstanceOf(RuntimeException.class)
                                .hasMessageContaining("UsageException")
                                .hasMessageContaining("became ready twice");
                    }
                    net.forward(ones(1, 3)).sum().backward(); // the hooks are gone
                });
    }

    /** Another rank may have its gradients already, so there is no going on. */
    @Test
    void whatFailsInPyTorchEndsTheStep() {
        TorchRanks.run(
                1,
                group -> {
                    LinearImpl net = new LinearImpl(3, 2);
                    VoidTensorHook broken =
                            new VoidTensorHook() {
                                @Override
                                public void call(TensorBase gradient) {
                                    gradient.close();
                                    throw new IllegalStateException("broken hook");
                                }
                            };
                    try (DistributedDataParallel ddp =
                            DistributedDataParallel.of(group, net, SMALL_BUCKETS)) {
                        Tensor x = ones(1, 3).set_requires_grad(true);
                        Tensor before = x.mul(scalar(1));
                        before.register_hook(broken); // called after those of the layer
                        Tensor loss = net.forward(before).sum();
                        for (int i = 0; i < 2; i++) {
                            assertThatThrownBy(() -> ddp.backward(loss))
                                    .isInstanceOf(RuntimeException.class)
                                    .hasMessageContaining("broken hook");
                        }
                    }
                    assertThat(broken.isNull()).isFalse();
                });
    }

    @Test
    void aParameterHasOneDistributedDataParallelAtATime() {
        TorchRanks.run(
                1,
                group -> {
                    LinearImpl net = new LinearImpl(3, 2);
                    try (DistributedDataParallel ddp = DistributedDataParallel.of(group, net)) {
                        refused(
                                "parameter 'weight' is trained by another",
                                () -> DistributedDataParallel.of(group, net));
                        ddp.backward(net.forward(ones(1, 3)).sum());
                    }
                    DistributedDataParallel.of(group, net).close();
                });
    }

    @Test
    void aParameterThatIsConvertedMeanwhileIsNamed() {
        TorchRanks.run(
                1,
                group -> {
                    LinearImpl net = new LinearImpl(3, 2);
                    try (DistributedDataParallel ddp = DistributedDataParallel.of(group, net)) {
                        ddp.backward(net.forward(ones(1, 3)).sum());
                        net.zero_grad(true);
                        net.to(ScalarType.Double, false);
                        refused(
                                "' is Strided Double [2",
                                () ->
                                        ddp.backward(
                                                net.forward(ones(1, 3).to(ScalarType.Double))
                                                        .sum()));
                    }
                });
    }

    @Test
    void sparseGradientsAreNamed() {
        TorchRanks.run(
                1,
                group -> {
                    Tensor table = ones(3, 2);
                    table.set_requires_grad(true);
                    try (DistributedDataParallel ddp = given(group, Map.of("table", table))) {
                        Tensor places = zeros(2).to(ScalarType.Long);
                        refused(
                                "the gradient of 'table' is Sparse Float [3, 2] on cpu",
                                () ->
                                        ddp.backward(
                                                embedding(table, places, -1, false, true).sum()));
                    }
                });
    }

    @Test
    void aGroupThatFailsInsideBackwardIsReported() {
        TorchRanks.run(
                2,
                group -> {
                    ProcessGroup own = group.newGroup(List.of(0, 1)).orElseThrow();
                    LinearImpl net = new LinearImpl(3, 2);
                    try (own;
                            DistributedDataParallel ddp =
                                    DistributedDataParallel.of(own, net, SMALL_BUCKETS)) {
                        group.barrier().await();
                        own.abort();
                        assertThatThrownBy(() -> ddp.backward(net.forward(ones(1, 3)).sum()))
                                .isInstanceOf(JcclException.class)
                                .hasMessageContaining("abort");
                        assertThatThrownBy(ddp::finish).isInstanceOf(JcclException.class);
                    }
                });
    }

    @Test
    void closingFreesTheHooks() {
        TorchRanks.run(
                1,
                group -> {
                    LinearImpl net = new LinearImpl(3, 2);
                    for (int i = 0; i < 50; i++) {
                        DistributedDataParallel ddp = DistributedDataParallel.of(group, net);
                        ddp.backward(net.forward(ones(1, 3)).sum());
                        ddp.close();
                        ddp.close();
                        refused("is closed", ddp::finish);
                        refused("is closed", ddp::noSync);
                        refused("is closed", () -> ddp.backward(net.forward(ones(1, 3)).sum()));
                        net.zero_grad(true);
                    }
                    net.forward(ones(1, 3)).sum().backward();
                    assertThat(SmallNet.values(net.weight().grad())).containsOnly(1);
                });
    }

    /** PyTorch would call hooks that Java has collected. */
    @Test
    void hooksOfWhatNobodyClosedStay() {
        TorchRanks.run(
                1,
                group -> {
                    LinearImpl net = new LinearImpl(3, 2);
                    assertThat(DistributedDataParallel.of(group, net)).isNotNull();
                    for (int i = 0; i < 5; i++) {
                        System.gc();
                    }
                    net.forward(ones(1, 3)).sum().backward();
                    assertThat(net.weight().grad().defined()).isTrue();
                });
    }

    @Test
    void badArgumentsAreNamed() {
        TorchRanks.run(
                1,
                group -> {
                    LinearImpl net = new LinearImpl(3, 2);
                    refused("group is null", () -> DistributedDataParallel.of(null, net));
                    refused(
                            "module is null",
                            () -> DistributedDataParallel.of(group, (Module) null));
                    refused("options is null", () -> DistributedDataParallel.of(group, net, null));
                    refused("parameters is null", () -> given(group, null));
                    refused("empty", () -> given(group, Map.of()));
                    refused("no gradient was registered", () -> given(group, Map.of("w", ones(2))));
                    refused(
                            "parameter 'w' is undefined",
                            () -> given(group, Map.of("w", new Tensor())));
                    Tensor w = parameter(3);
                    Map<String, Tensor> twice = new LinkedHashMap<>();
                    twice.put("w", w);
                    twice.put("again", w);
                    refused(
                            "parameters 'w' and 'again' are the same tensor",
                            () -> given(group, twice));
                    Tensor turned = ones(2, 3).t();
                    turned.set_requires_grad(true);
                    refused(
                            "parameter 'turned' is not contiguous",
                            () -> given(group, Map.of("turned", turned)));
                    Tensor complex = ones(2).to(ScalarType.ComplexFloat);
                    complex.set_requires_grad(true);
                    refused(
                            "parameter 'c' is of type ComplexFloat",
                            () -> given(group, Map.of("c", complex)));
                    refused(
                            "parameter 'sum' is not a leaf",
                            () -> given(group, Map.of("sum", w.sum())));
                    try (DistributedDataParallel ddp = DistributedDataParallel.of(group, net)) {
                        refused("loss is null", () -> ddp.backward(null));
                        refused("loss is undefined", () -> ddp.backward(new Tensor()));
                        refused("unevenInputs", ddp::join);
                        assertThatThrownBy(() -> ddp.backward(ones(3)))
                                .isInstanceOf(RuntimeException.class)
                                .hasMessageContaining("does not require grad");
                        ddp.backward(net.forward(ones(1, 3)).sum());
                    }
                    Tensor late = ones(3);
                    Map<String, Tensor> thawing = new LinkedHashMap<>();
                    thawing.put("w", w);
                    thawing.put("late", late);
                    try (DistributedDataParallel ddp =
                            DistributedDataParallel.of(group, thawing, options -> {})) {
                        late.set_requires_grad(true);
                        refused(
                                "parameter 'late' requires a gradient now",
                                () -> ddp.backward(w.sum()));
                    }
                });
    }

    private static DistributedDataParallel given(ProcessGroup group, Map<String, Tensor> tensors) {
        return DistributedDataParallel.of(group, tensors, options -> {});
    }
}
