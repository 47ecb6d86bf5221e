package org.jccl.pytorch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;
import static org.bytedeco.pytorch.global.torch.manual_seed;
import static org.bytedeco.pytorch.global.torch.ones;
import static org.bytedeco.pytorch.global.torch.randn;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.StringJoiner;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.bytedeco.pytorch.AdamW;
import org.bytedeco.pytorch.AdamWOptions;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.OptimizerParamGroup;
import org.bytedeco.pytorch.ReduceLROnPlateauScheduler;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.StepLR;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.UsageException;
import org.jccl.training.Checkpoint;
import org.jccl.training.CheckpointWriter;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(180)
class TorchCheckpointTest {

    private static final String[] UNITS = {"conv", "hidden", "norm", "output"};
    private static final int BATCH = 24;
    private static final int SAVED = 8;
    private static final int STEPS = 20;

    @TempDir private Path directory;

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

    private static float mean(ProcessGroup group, Tensor loss) {
        try (org.jccl.Tensor sum = org.jccl.Tensor.copyOf(new float[] {loss.item_float()})) {
            group.allReduce(sum, ReduceOp.SUM).await();
            return sum.copyTo(new float[1])[0] / group.size();
        }
    }

    private static List<Float> whole(
            ProcessGroup group, SmallNet net, Optimizer optimizer, int from, int to) {
        List<Float> losses = new ArrayList<>();
        try (DistributedDataParallel ddp = DistributedDataParallel.of(group, net)) {
            for (int step = from; step < to; step++) {
                optimizer.zero_grad();
                Tensor loss = net.loss(batch(step, group));
                ddp.backward(loss);
                optimizer.step();
                losses.add(mean(group, loss));
            }
        }
        return losses;
    }

    private static List<Float> divided(
            ProcessGroup group,
            SmallNet net,
            FullyShardedDataParallel fsdp,
            Optimizer optimizer,
            int from,
            int to) {
        List<Float> losses = new ArrayList<>();
        for (int step = from; step < to; step++) {
            optimizer.zero_grad();
            Tensor loss = net.loss(batch(step, group), fsdp::run);
            fsdp.backward(loss);
            optimizer.step();
            losses.add(mean(group, loss));
        }
        return losses;
    }

    /**
     * Also waits for the other ranks. Here they are threads of one process with one random
     * generator, whose state each of them replaces, perhaps while another one draws a batch.
     */
    private static Map<String, String> load(
            ProcessGroup group, TorchCheckpoint state, Checkpoint checkpoint) {
        Map<String, String> texts = state.load(checkpoint);
        group.sync().barrier();
        return texts;
    }

    private static void requireSame(List<Float> actual, List<Float> expected) {
        assertThat(actual).hasSameSizeAs(expected);
        for (int i = 0; i < expected.size(); i++) {
            assertThat(actual.get(i)).as("step " + i).isCloseTo(expected.get(i), within(1e-6f));
        }
    }

    /** What two ranks with a whole module do without an interruption. */
    private static List<Float> undisturbed(Function<TensorVector, Optimizer> kind) {
        List<Float> all = new ArrayList<>();
        TorchRanks.run(
                2,
                group -> {
                    SmallNet net = SmallNet.seeded(1);
                    List<Float> losses = whole(group, net, kind.apply(net.parameters()), 0, STEPS);
                    if (group.rank() == 0) {
                        all.addAll(losses);
                    }
                });
        return all;
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2})
    void fourRanksWithADividedModuleAreContinuedByTwoWithAWholeOne(int number) {
        Function<TensorVector, Optimizer> kind =
                FullyShardedDataParallelTest.OPTIMIZERS.get(number);
        List<Float> expected = undisturbed(kind);
        TorchRanks.run(
                4,
                group -> {
                    SmallNet net = SmallNet.seeded(1);
                    try (FullyShardedDataParallel fsdp =
                            FullyShardedDataParallel.of(group, net, UNITS)) {
                        Optimizer optimizer = kind.apply(fsdp.parameters());
                        requireSame(
                                divided(group, net, fsdp, optimizer, 0, SAVED),
                                expected.subList(0, SAVED));
                        TorchCheckpoint.of(group, fsdp, optimizer)
                                .save(directory, Map.of("step", Integer.toString(SAVED)));
                    }
                });
        TorchRanks.run(
                2,
                group -> {
                    SmallNet net = SmallNet.seeded(7 + group.rank());
                    Optimizer optimizer = kind.apply(net.parameters());
                    Map<String, String> texts =
                            load(
                                    group,
                                    TorchCheckpoint.of(group, net, optimizer),
                                    Checkpoint.open(directory));
                    assertThat(texts).isEqualTo(Map.of("step", Integer.toString(SAVED)));
                    requireSame(
                            whole(group, net, optimizer, SAVED, STEPS),
                            expected.subList(SAVED, STEPS));
                });
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2})
    void twoRanksWithAWholeModuleAreContinuedByThreeWithADividedOne(int number) {
        Function<TensorVector, Optimizer> kind =
                FullyShardedDataParallelTest.OPTIMIZERS.get(number);
        List<Float> expected = undisturbed(kind);
        TorchRanks.run(
                2,
                group -> {
                    SmallNet net = SmallNet.seeded(1);
                    Optimizer optimizer = kind.apply(net.parameters());
                    whole(group, net, optimizer, 0, SAVED);
                    try (CheckpointWriter writer = CheckpointWriter.of(group)) {
                        writer.save(
                                directory,
                                TorchCheckpoint.of(group, net, optimizer).shards(),
                                Map.of());
                        whole(group, net, optimizer, SAVED, SAVED + 1);
                    }
                });
        TorchRanks.run(
                3,
                group -> {
                    SmallNet net = SmallNet.seeded(7 + group.rank());
                    try (FullyShardedDataParallel fsdp =
                            FullyShardedDataParallel.of(group, net, "", "hidden")) {
                        Optimizer optimizer = kind.apply(fsdp.parameters());
                        // The state of this step is replaced.
                        SmallNet.Units units =
                                (unit, forward) ->
                                        fsdp.run(unit.equals("hidden") ? unit : "", forward);
                        fsdp.backward(net.loss(batch(0, group), units));
                        optimizer.step();
                        load(
                                group,
                                TorchCheckpoint.of(group, fsdp, optimizer),
                                Checkpoint.open(directory));
                        List<Float> losses = new ArrayList<>();
                        for (int step = SAVED; step < STEPS; step++) {
                            optimizer.zero_grad();
                            Tensor loss = net.loss(batch(step, group), units);
                            fsdp.backward(loss);
                            optimizer.step();
                            losses.add(mean(group, loss));
                        }
                        requireSame(losses, expected.subList(SAVED, STEPS));
                    }
                });
    }

    @Test
    void randomNumbersContinue() {
        TorchRanks.run(
                1,
                group -> {
                    LinearImpl net = new LinearImpl(2, 1);
                    SGD optimizer = new SGD(net.parameters(), new SGDOptions(0.1));
                    TorchCheckpoint state = TorchCheckpoint.of(group, net, optimizer);
                    manual_seed(5);
                    randn(3);
                    state.save(directory, Map.of());
                    float[] expected = SmallNet.values(randn(10));
                    manual_seed(6);
                    state.load(directory);
                    assertThat(SmallNet.values(randn(10))).isEqualTo(expected);
                });
    }

    /** Two groups: the layer "hidden", and all others. */
    private static AdamW twoGroups(TensorVector hidden, TensorVector others, boolean hiddenFirst) {
        AdamWOptions some = new AdamWOptions(0.02);
        some.betas().put(0, 0.8).put(1, 0.95);
        some.amsgrad().put(true);
        AdamWOptions other = new AdamWOptions(0.005);
        other.eps().put(1e-7);
        AdamW optimizer = hiddenFirst ? new AdamW(hidden, some) : new AdamW(others, other);
        optimizer.add_param_group(
                hiddenFirst
                        ? new OptimizerParamGroup(others, other)
                        : new OptimizerParamGroup(hidden, some));
        return optimizer;
    }

    private static AdamW twoGroups(SmallNet net) {
        List<Tensor> others = new ArrayList<>();
        ModelTensors.of(net)
                .forEach(
                        (name, tensor) -> {
                            if (!name.startsWith("hidden.") && tensor.requires_grad()) {
                                others.add(tensor);
                            }
                        });
        return twoGroups(
                net.hidden.parameters(), new TensorVector(others.toArray(Tensor[]::new)), true);
    }

    private static void train(
            ProcessGroup group, SmallNet net, Optimizer optimizer, StepLR rate, int from, int to) {
        for (int step = from; step < to; step++) {
            whole(group, net, optimizer, step, step + 1);
            rate.step();
        }
    }

    private static double rate(Optimizer optimizer, int group) {
        return optimizer.param_groups().get(group).options().get_lr();
    }

    @Test
    void optionsOfGroupsAndRatesOfASchedulerContinue() {
        TorchRanks.run(
                2,
                group -> {
                    SmallNet undisturbed = SmallNet.seeded(1);
                    AdamW expected = twoGroups(undisturbed);
                    train(group, undisturbed, expected, new StepLR(expected, 3, 0.5), 0, 10);

                    SmallNet net = SmallNet.seeded(1);
                    AdamW optimizer = twoGroups(net);
                    train(group, net, optimizer, new StepLR(optimizer, 3, 0.5), 0, 5);
                    TorchCheckpoint.of(group, net, optimizer).save(directory, Map.of("step", "5"));

                    SmallNet resumed = SmallNet.seeded(9);
                    AdamW other = twoGroups(resumed);
                    other.param_groups().get(0).set_options(new AdamWOptions(7));
                    other.param_groups().get(1).set_options(new AdamWOptions(8));
                    StepLR scheduler = new StepLR(other, 3, 0.5);
                    Checkpoint saved = Checkpoint.open(directory);
                    int step = Integer.parseInt(saved.metadata().get("step"));
                    for (int i = 0; i < step; i++) {
                        scheduler.step();
                    }
                    load(group, TorchCheckpoint.of(group, resumed, other), saved);
                    assertThat(rate(other, 0)).isEqualTo(0.01);
                    train(group, resumed, other, scheduler, step, 10);
                    assertThat(rate(other, 0)).isEqualTo(rate(expected, 0)).isEqualTo(0.02 / 8);
                    assertThat(rate(other, 1)).isEqualTo(rate(expected, 1)).isEqualTo(0.005 / 8);
                    assertThat(SmallNet.weights(resumed)).isEqualTo(SmallNet.weights(undisturbed));
                });
    }

    private static List<String> options(Optimizer optimizer) {
        List<String> all = new ArrayList<>();
        OptimizerState.options(OptimizerState.archive(optimizer), 2)
                .forEach(
                        group -> {
                            StringJoiner texts = new StringJoiner(" ");
                            group.forEach(
                                    (name, value) ->
                                            texts.add(name + "=" + Arrays.toString(value)));
                            all.add(texts.toString());
                        });
        return all;
    }

    @Test
    void optionsAreFoundByTheNamesOfParameters() {
        TorchRanks.run(
                2,
                group -> {
                    SmallNet net = SmallNet.seeded(1);
                    AdamW saved = twoGroups(net);
                    TorchCheckpoint.of(group, net, saved).save(directory, Map.of());
                    SmallNet divided = SmallNet.seeded(1);
                    try (FullyShardedDataParallel fsdp =
                            FullyShardedDataParallel.of(group, divided, "", "hidden")) {
                        TensorVector all = fsdp.parameters();
                        AdamW optimizer =
                                twoGroups(
                                        new TensorVector(all.get(1)),
                                        new TensorVector(all.get(0)),
                                        false);
                        for (long i = 0; i < 2; i++) {
                            optimizer.param_groups().get(i).set_options(new AdamWOptions(7));
                        }
                        load(
                                group,
                                TorchCheckpoint.of(group, fsdp, optimizer),
                                Checkpoint.open(directory));
                        List<String> expected = options(saved);
                        assertThat(options(optimizer))
                                .containsExactly(expected.get(1), expected.get(0));
                        assertThat(expected.get(0)).contains("amsgrad=[1.0]", "lr=[0.02]");
                        assertThat(expected.get(1)).contains("eps=[1.0E-7]", "lr=[0.005]");

                        refused(
                                "are in one unit or group of the optimizer, and the checkpoint has"
                                        + " [0, 1]",
                                () ->
                                        TorchCheckpoint.of(
                                                        group,
                                                        fsdp,
                                                        new AdamW(all, new AdamWOptions(0.1)))
                                                .load(directory));
                    }
                });
    }

    @Test
    void aSchedulerThatWatchesTheLossContinues() {
        float[] losses = {3, 2, 2, 2, 1, 2, 2, 2, 2, 2, 2, 2, 2};
        TorchRanks.run(
                1,
                group -> {
                    LinearImpl net = new LinearImpl(2, 1);
                    SGD optimizer = new SGD(net.parameters(), new SGDOptions(0.1));
                    TorchCheckpoint state = TorchCheckpoint.of(group, net, optimizer);
                    ReduceLROnPlateauScheduler scheduler = plateau(optimizer);
                    List<Double> rates = new ArrayList<>();
                    for (int i = 0; i < losses.length; i++) {
                        if (i == 7) {
                            state.save(directory, Map.of());
                        }
                        scheduler.step(losses[i]);
                        rates.add(rate(optimizer, 0));
                    }
                    SGD other = new SGD(net.parameters(), new SGDOptions(5));
                    ReduceLROnPlateauScheduler resumed = plateau(other);
                    for (int i = 0; i < 7; i++) {
                        resumed.step(losses[i]);
                    }
                    load(group, TorchCheckpoint.of(group, net, other), Checkpoint.open(directory));
                    List<Double> again = new ArrayList<>(rates.subList(0, 7));
                    for (int i = 7; i < losses.length; i++) {
                        resumed.step(losses[i]);
                        again.add(rate(other, 0));
                    }
                    assertThat(again).isEqualTo(rates);
                    assertThat(Set.copyOf(rates)).hasSizeGreaterThan(2);
                });
    }

    private static ReduceLROnPlateauScheduler plateau(Optimizer optimizer) {
        return new ReduceLROnPlateauScheduler(
                optimizer,
                ReduceLROnPlateauScheduler.SchedulerMode.min,
                0.5f,
                1,
                1e-4,
                ReduceLROnPlateauScheduler.ThresholdMode.rel,
                0,
                new float[0],
                1e-8,
                false);
    }

    @Test
    void wrongUseIsRefused() {
        TorchRanks.run(
                1,
                group -> {
                    LinearImpl net = new LinearImpl(2, 1);
                    LinearImpl other = new LinearImpl(2, 1);
                    Function<TensorVector, Optimizer> adam =
                            FullyShardedDataParallelTest.OPTIMIZERS.get(1);
                    Function<TensorVector, Optimizer> sgd =
                            FullyShardedDataParallelTest.OPTIMIZERS.get(0);
                    Optimizer optimizer = adam.apply(net.parameters());
                    refused("group is null", () -> TorchCheckpoint.of(null, net, optimizer));
                    refused("optimizer is null", () -> TorchCheckpoint.of(group, net, null));
                    refused(
                            "parameter 0 of group 0 of the optimizer does not belong to this module",
                            () -> TorchCheckpoint.of(group, other, optimizer));
                    TensorVector twice = new TensorVector(net.parameters().get(0));
                    twice.push_back(net.parameters().get(0));
                    refused(
                            "twice, the second time as parameter 1 of group 0",
                            () -> TorchCheckpoint.of(group, net, sgd.apply(twice)));
                    net.forward(ones(1, 2)).sum().backward();
                    optimizer.step();
                    TorchCheckpoint state = TorchCheckpoint.of(group, net, optimizer);
                    refused("checkpoint is null", () -> state.load((Checkpoint) null));
                    state.save(directory, Map.of());
                    refused(
                            "lacks the option 'dampening' of this optimizer; it is of another"
                                    + " optimizer",
                            () ->
                                    TorchCheckpoint.of(group, other, sgd.apply(other.parameters()))
                                            .load(directory));
                    Checkpoint.save(
                            group,
                            directory,
                            state.shards().stream()
                                    .filter(each -> !each.name().startsWith("optimizer.options."))
                                    .toList(),
                            Map.of());
                    refused(
                            "the state of an optimizer without its options",
                            () ->
                                    TorchCheckpoint.of(group, other, sgd.apply(other.parameters()))
                                            .load(directory));
                    LinearImpl larger = new LinearImpl(3, 1);
                    refused(
                            "'weight'",
                            () ->
                                    TorchCheckpoint.of(
                                                    group, larger, adam.apply(larger.parameters()))
                                            .load(directory));
                });
    }

    private static void refused(String words, ThrowingCallable call) {
        assertThatThrownBy(call).isInstanceOf(UsageException.class).hasMessageContaining(words);
    }

    /** The script is that of the documentation. */
    @Test
    void pythonLoadsTheModule() throws Exception {
        String python = System.getenv("JCCL_PEER_PYTHON");
        assumeTrue(python != null, "JCCL_PEER_PYTHON is not set");
        float[][] expected = new float[1][];
        TorchRanks.run(
                2,
                group -> {
                    SmallNet net = SmallNet.seeded(1);
                    try (FullyShardedDataParallel fsdp =
                            FullyShardedDataParallel.of(group, net, UNITS)) {
                        Optimizer optimizer =
                                FullyShardedDataParallelTest.OPTIMIZERS
                                        .get(1)
                                        .apply(fsdp.parameters());
                        divided(group, net, fsdp, optimizer, 0, 2);
                        TorchCheckpoint.of(group, fsdp, optimizer).save(directory, Map.of());
                    }
                    SmallNet whole = SmallNet.seeded(9);
                    TorchCheckpoint.of(
                                    group,
                                    whole,
                                    FullyShardedDataParallelTest.OPTIMIZERS
                                            .get(1)
                                            .apply(whole.parameters()))
                            .load(directory);
                    expected[0] = SmallNet.values(whole.logits(ones(2, 16), false));
                });
        String page = Files.readString(Path.of("..", "..", "docs", "checkpoints.md"));
        String script = page.split("```python\n")[1].split("```")[0];
        String model =
                """
                import torch
                class Net(torch.nn.Module):
                    def __init__(self):
                        super().__init__()
                        self.conv = torch.nn.Conv2d(1, 2, 3)
                        self.hidden = torch.nn.Linear(8, 10)
                        self.norm = torch.nn.BatchNorm1d(10)
                        self.output = torch.nn.Linear(10, 3)
                        self.frozen = torch.nn.Parameter(torch.zeros(4))
                    def forward(self, x):
                        x = torch.relu(self.conv(x.view(-1, 1, 4, 4))).view(-1, 8)
                        return self.output(torch.relu(self.hidden(x) * self.norm.weight + self.norm.bias))
                module = Net()
                """;
        String all = model + script + "print(module(torch.ones(2, 16)).view(-1).tolist())\n";
        String printed = run(python, all);
        String[] numbers = printed.strip().replaceAll("[\\[\\]]", "").split(", ");
        assertThat(numbers).as(printed).hasSize(6);
        for (int i = 0; i < 6; i++) {
            assertThat(Float.parseFloat(numbers[i])).isCloseTo(expected[0][i], within(1e-5f));
        }
        assertThat(Arrays.stream(script.split("\n"))).hasSizeLessThanOrEqualTo(14);
    }

    private String run(String python, String script) throws IOException, InterruptedException {
        Path file = Files.writeString(directory.resolve("load.py"), script);
        Path output = directory.resolve("output");
        Process process =
                new ProcessBuilder(python, file.toString(), directory.toString())
                        .redirectErrorStream(true)
                        .redirectOutput(output.toFile())
                        .start();
        if (!process.waitFor(120, TimeUnit.SECONDS)) {
            process.destroyForcibly();
            throw new AssertionError("Python did not end in time");
        }
        return Files.readString(output, StandardCharsets.UTF_8);
    }
}
