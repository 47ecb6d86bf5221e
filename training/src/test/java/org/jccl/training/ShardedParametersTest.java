package org.jccl.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.GroupAbortedException;
import org.jccl.ProcessGroup;
import org.jccl.Tensor;
import org.jccl.UsageException;
import org.jccl.Work;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

@Timeout(120)
final class ShardedParametersTest {

    private static final int STEPS = 4;

    /** Counts that no number of ranks divides evenly, one parameter smaller than a part of it. */
    private static final Map<String, List<Integer>> UNITS =
            new TreeMap<>(
                    Map.of("a", List.of(5, 3), "b", List.of(7), "c", List.of(1), "d", List.of(64)));

    private static String parameter(String unit, int index) {
        return unit + ".p" + index;
    }

    private static float initial(String parameter, int element) {
        return parameter.hashCode() % 97 + element;
    }

    /** Depends on where the parameter is now, so that a step with old ones goes wrong. */
    private static float gradient(float parameter, int rank, int step) {
        return parameter / 2 + 4 * rank + step;
    }

    private static float[] initial(String parameter, int count, float added) {
        float[] values = new float[count];
        for (int i = 0; i < count; i++) {
            values[i] = initial(parameter, i) + added;
        }
        return values;
    }

    private static ShardedParametersBuilder builder(ProcessGroup group, Sharding sharding) {
        Device device = group.devices().get(0);
        ShardedParametersBuilder builder = ShardedParameters.builder(group).sharding(sharding);
        UNITS.forEach(
                (unit, counts) -> {
                    List<NamedTensor> parameters = new ArrayList<>();
                    for (int i = 0; i < counts.size(); i++) {
                        String name = parameter(unit, i);
                        // Other ranks begin with rank 0's.
                        float[] values = initial(name, counts.get(i), 1000 * group.rank());
                        parameters.add(
                                NamedTensor.of(
                                        name, TestRanks.tensor(device, values), counts.get(i)));
                    }
                    builder.unit(unit, parameters);
                });
        return builder;
    }

    /** What one process has after some steps with the average over all ranks. */
    private static float[] expected(String parameter, int count, int ranks, int steps) {
        float[] values = initial(parameter, count, 0);
        for (int step = 0; step < steps; step++) {
            for (int i = 0; i < count; i++) {
                float sum = 0;
                for (int rank = 0; rank < ranks; rank++) {
                    sum += gradient(values[i], rank, step);
                }
                values[i] -= sum / ranks / 8;
            }
        }
        return values;
    }

    private static void requireValues(ShardedUnit unit, int ranks, int steps) {
        List<Integer> counts = UNITS.get(unit.name());
        for (int i = 0; i < counts.size(); i++) {
            String name = parameter(unit.name(), i);
            assertThat(TestRanks.values(unit.parameter(name)))
                    .as("%s after %d steps", name, steps)
                    .containsExactly(expected(name, counts.get(i), ranks, steps), within(1e-3f));
        }
    }

    private static void backward(ShardedUnit unit, int rank, int step) {
        for (String name : unit.parameterNames()) {
            float[] gradients = TestRanks.values(unit.parameter(name));
            for (int i = 0; i < gradients.length; i++) {
                gradients[i] = gradient(gradients[i], rank, step);
            }
            unit.gradient(name).copyFrom(gradients);
        }
    }

    private static void descend(ShardedUnit unit, Tensor parameters, Tensor gradients) {
        assertThat(parameters.count()).isEqualTo(gradients.count());
        float[] values = TestRanks.values(parameters);
        float[] by = TestRanks.values(gradients);
        for (int i = 0; i < values.length; i++) {
            values[i] -= by[i] / 8;
        }
        parameters.copyFrom(values);
    }

    private static void train(ShardedParameters model, ProcessGroup group, int from, int to) {
        List<ShardedUnit> backwards = new ArrayList<>(model.units());
        Collections.reverse(backwards);
        for (int step = from; step < to; step++) {
            for (int i = 0; i < model.units().size(); i++) {
                ShardedUnit unit = model.units().get(i);
                unit.gather();
                if (i + 1 < model.units().size()) {
                    model.units().get(i + 1).prefetch();
                }
                requireValues(unit, group.size(), step);
                unit.release();
            }
            for (ShardedUnit unit : backwards) {
                unit.gather();
                backward(unit, group.rank(), step);
                unit.release();
                unit.reduce();
            }
            model.step(ShardedParametersTest::descend);
        }
    }

    private static void train(ProcessGroup group, Sharding sharding) {
        try (ShardedParameters model = builder(group, sharding).build()) {
            train(model, group, 0, STEPS);
            for (ShardedUnit unit : model.units()) {
                unit.gather();
                requireValues(unit, group.size(), STEPS);
                requireSameBits(group, unit);
                unit.release();
            }
        }
    }

    private static void requireSameBits(ProcessGroup group, ShardedUnit unit) {
        for (String name : unit.parameterNames()) {
            Tensor mine = unit.parameter(name);
            float[] all = new float[Math.toIntExact(mine.count()) * group.size()];
            try (Tensor gathered = TestRanks.tensor(mine.device(), all)) {
                group.allGatherSingle(gathered, mine).await();
                all = TestRanks.values(gathered);
            }
            for (int i = 0; i < all.length; i++) {
                assertThat(all[i]).isEqualTo(all[i % Math.toIntExact(mine.count())]);
            }
        }
    }

    @ParameterizedTest
    @CsvSource({"1, PARAMETERS", "2, PARAMETERS", "3, PARAMETERS", "3, GRADIENTS", "3, OPTIMIZER"})
    void trainsAsOneProcessDoes(int ranks, Sharding sharding) {
        TestRanks.onCpu(ranks, group -> train(group, sharding));
    }

    @ParameterizedTest
    @EnumSource(Sharding.class)
    void trainsOnStreams(Sharding sharding) {
        TestRanks.onDevices(2, group -> train(group, sharding));
    }

    /** Another number of ranks goes on where some have stopped. */
    @Test
    void aCheckpointIsLoadedByAnotherNumberOfRanks(@TempDir Path directory) {
        TestRanks.onCpu(
                3,
                group -> {
                    try (ShardedParameters model = builder(group, Sharding.PARAMETERS).build()) {
                        train(model, group, 0, 2);
                        List<Shard> shards = new ArrayList<>(model.shards());
                        for (ShardedUnit unit : model.units()) {
                            shards.addAll(unit.shards("momentum.", unit.parameterShard()));
                        }
                        Checkpoint.save(group, directory, shards, Map.of());
                    }
                });
        Checkpoint checkpoint = Checkpoint.open(directory);
        assertThat(checkpoint.names()).hasSize(10).contains("a.p1", "momentum.a.p1");
        assertThat(checkpoint.shape("a.p0")).containsExactly(5L);
        for (Sharding sharding : Sharding.values()) {
            TestRanks.onCpu(
                    2,
                    group -> {
                        try (ShardedParameters model = builder(group, sharding).build()) {
                            model.load(checkpoint);
                            for (ShardedUnit unit : model.units()) {
                                unit.gather();
                                requireValues(unit, 3, 2);
                                unit.release();
                            }
                        }
                    });
        }
    }

    /** Half of one and half of another would be a model that nobody trained. */
    @Test
    void ranksThatOpenedDifferentCheckpointsAreRefused(@TempDir Path directory) {
        TestRanks.onCpu(
                2,
                group -> {
                    try (ShardedParameters model = builder(group, Sharding.PARAMETERS).build()) {
                        for (String each : List.of("0", "1")) {
                            Path where = directory.resolve(each);
                            Checkpoint.save(group, where, model.shards(), Map.of());
                        }
                        Path own = directory.resolve(Integer.toString(group.rank()));
                        assertThatThrownBy(() -> model.load(Checkpoint.open(own)))
                                .isInstanceOf(DifferentModelsException.class)
                                .hasMessageContaining("must open the same save");
                        model.load(Checkpoint.open(directory.resolve("0")));
                    }
                });
    }

    /** A group that lists outputs to which two gatherings wrote at the same time. */
    private static ProcessGroup watching(ProcessGroup group, List<Object> wrong) {
        Set<Object> underWay = new HashSet<>();
        InvocationHandler handler =
                (proxy, method, arguments) -> {
                    Object result = method.invoke(group, arguments);
                    if (!method.getName().equals("allGatherSingle")) {
                        return result;
                    }
                    Object output = ((Tensor) arguments[0]).address();
                    if (!underWay.add(output)) {
                        wrong.add(output);
                    }
                    InvocationHandler work =
                            (any, call, given) -> {
                                underWay.remove(output);
                                return call.invoke(result, given);
                            };
                    return Proxy.newProxyInstance(
                            Work.class.getClassLoader(), new Class<?>[] {Work.class}, work);
                };
        return (ProcessGroup)
                Proxy.newProxyInstance(
                        ProcessGroup.class.getClassLoader(),
                        new Class<?>[] {ProcessGroup.class},
                        handler);
    }

    /** MPI, for instance, may complete the older one last. */
    @Test
    void parametersAreNotGatheredTwiceAtATime(@TempDir Path directory) {
        TestRanks.onCpu(
                1,
                group -> {
                    List<Object> wrong = new ArrayList<>();
                    try (ShardedParameters model =
                            builder(watching(group, wrong), Sharding.OPTIMIZER).build()) {
                        train(model, group, 0, 1);
                        Checkpoint.save(group, directory, model.shards(), Map.of());
                        model.load(Checkpoint.open(directory));
                        for (ShardedUnit unit : model.units()) {
                            unit.gather();
                        }
                    }
                    assertThat(wrong).isEmpty();
                });
    }

    @Test
    void gradientsAddUpUntilTheyAreReduced() {
        TestRanks.onCpu(
                2,
                group -> {
                    try (ShardedParameters model =
                            ShardedParameters.builder(group)
                                    .sharding(Sharding.OPTIMIZER)
                                    .sum()
                                    .unit("u", List.of(ones("x", 3), ones("y", 4)))
                                    .build()) {
                        ShardedUnit unit = model.units().get(0);
                        Tensor x = unit.gradient("x");
                        for (int step = 1; step <= 2; step++) {
                            assertThat(TestRanks.values(unit.gradient("y"))).containsOnly(0);
                            assertThat(unit.gradient("x")).isSameAs(x);
                            x.copyFrom(new float[] {step, step, step});
                            unit.reduce();
                            model.awaitGradients();
                            float sum = 0;
                            for (float each : TestRanks.values(unit.gradientShard())) {
                                sum += each;
                            }
                            assertThat(sum).isEqualTo(group.rank() == 0 ? 6 * step : 0);
                            model.step((any, parameters, gradients) -> {});
                        }
                    }
                });
    }

    /** The average has a number in float16, the sum has none. */
    @Test
    void averagesOfFloat16AreDividedBeforeTheyAreAddedUp() {
        TestRanks.onCpu(
                2,
                group -> {
                    short[] large = {HalfFloats.toFloat16(40_000), HalfFloats.toFloat16(-50_000)};
                    try (Tensor half = Tensor.allocate(Device.CPU, DataType.FLOAT16, 2);
                            ShardedParameters model =
                                    ShardedParameters.builder(group)
                                            .unit("u", List.of(NamedTensor.of("x", half, 2)))
                                            .build()) {
                        ShardedUnit unit = model.units().get(0);
                        unit.gradient("x").copyFrom(large);
                        unit.reduce();
                        model.awaitGradients();
                        assertThat(unit.gradientShard().copyTo(new short[1]))
                                .containsExactly(large[group.rank()]);
                    }
                });
    }

    private static NamedTensor ones(String name, int count) {
        return NamedTensor.of(name, TestRanks.filled(count, 1), count);
    }

    @Test
    void modelsThatDifferAreNamed() {
        TestRanks.onCpu(
                2,
                group ->
                        assertThatThrownBy(
                                        () ->
                                                ShardedParameters.builder(group)
                                                        .unit("u", List.of(ones("x", 2)))
                                                        .unit(
                                                                "v",
                                                                List.of(
                                                                        ones(
                                                                                "y",
                                                                                3 + group.rank())))
                                                        .build())
                                .isInstanceOf(DifferentModelsException.class)
                                .hasMessageContaining("rank 0 has 'y' of unit 'v' (float32 [3])")
                                .hasMessageContaining("rank 1 has 'y' of unit 'v' (float32 [4])"));
    }

    @Test
    void whatIsMissingIsNamed() {
        TestRanks.onCpu(
                2,
                group -> {
                    try (ShardedParameters model =
                            ShardedParameters.builder(group)
                                    .unit("u", List.of(ones("x", 2)))
                                    .unit("v", List.of(ones("y", 3)))
                                    .build()) {
                        ShardedUnit u = model.units().get(0);
                        ShardedUnit v = model.units().get(1);
                        assertThatThrownBy(u::reduce)
                                .isInstanceOf(MissingGradientException.class)
                                .hasMessageContaining("'u'");
                        u.gradient("x");
                        u.reduce();
                        assertThatThrownBy(() -> model.step(ShardedParametersTest::descend))
                                .isInstanceOf(MissingGradientException.class)
                                .hasMessageContaining("units [v]");
                        assertThatThrownBy(u::reduce)
                                .isInstanceOf(UsageException.class)
                                .hasMessageContaining("reduced twice");
                        assertThatThrownBy(() -> u.gradient("x"))
                                .isInstanceOf(UsageException.class)
                                .hasMessageContaining("was reduced");
                        assertThatThrownBy(() -> v.parameter("y"))
                                .isInstanceOf(UsageException.class)
                                .hasMessageContaining("gather()");
                        assertThatThrownBy(() -> v.gradient("x"))
                                .isInstanceOf(UsageException.class)
                                .hasMessageContaining("it has [y]");
                        v.gradient("y");
                        v.reduce();
                        model.step(ShardedParametersTest::descend);
                    }
                });
    }

    /** Nothing that was released can be read as if it were still that unit's. */
    @Test
    void whatWasGivenBackIsClosed() {
        TestRanks.onCpu(
                2,
                group -> {
                    try (ShardedParameters model = builder(group, Sharding.PARAMETERS).build()) {
                        ShardedUnit a = model.units().get(0);
                        ShardedUnit b = model.units().get(1);
                        a.gather();
                        b.gather();
                        assertThatThrownBy(() -> model.units().get(2).gather())
                                .isInstanceOf(UsageException.class)
                                .hasMessageContaining("2 other whole units")
                                .hasMessageContaining("release()");
                        Tensor parameter = a.parameter("a.p0");
                        Tensor gradient = a.gradient("a.p0");
                        a.release();
                        a.release();
                        a.reduce();
                        for (Tensor each : List.of(parameter, gradient)) {
                            assertThatThrownBy(() -> each.copyTo(new float[5]))
                                    .isInstanceOf(UsageException.class)
                                    .hasMessageContaining("closed");
                        }
                        model.units().get(2).gather();
                        requireValues(b, 2, 0);
                        requireValues(model.units().get(2), 2, 0);
                    }
                });
    }

    /** Views borrow memory that is free then. */
    @ParameterizedTest
    @EnumSource
    void nothingIsReadAfterTheEnd(Sharding sharding) {
        TestRanks.onCpu(
                1,
                group -> {
                    Tensor parameter;
                    Tensor gradient;
                    try (ShardedParameters model = builder(group, sharding).build()) {
                        ShardedUnit a = model.units().get(0);
                        a.gather();
                        parameter = a.parameter("a.p0");
                        gradient = a.gradient("a.p0");
                    }
                    for (Tensor each : List.of(parameter, gradient)) {
                        assertThatThrownBy(() -> each.copyTo(new float[5]))
                                .isInstanceOf(UsageException.class)
                                .hasMessageContaining("closed");
                    }
                });
    }

    @Test
    void aFailedUpdateEndsIt() {
        TestRanks.onCpu(
                1,
                group -> {
                    ShardedParameters model =
                            ShardedParameters.builder(group)
                                    .unit("u", List.of(ones("x", 2)))
                                    .build();
                    try (model) {
                        ShardedUnit unit = model.units().get(0);
                        unit.gradient("x");
                        unit.reduce();
                        assertThatThrownBy(
                                        () ->
                                                model.step(
                                                        (any, parameters, gradients) -> {
                                                            throw new ArithmeticException("nan");
                                                        }))
                                .isInstanceOf(ArithmeticException.class);
                        assertThatThrownBy(unit::gather)
                                .isInstanceOf(UsageException.class)
                                .hasMessageContaining("failed before (nan)");
                    }
                    model.close();
                    assertThatThrownBy(model::shards)
                            .isInstanceOf(UsageException.class)
                            .hasMessageContaining("closed");
                });
    }

    @Test
    void aFailureOfTheGroupEndsIt() {
        TestRanks.onCpu(
                2,
                group -> {
                    try (ShardedParameters model = builder(group, Sharding.GRADIENTS).build()) {
                        ShardedUnit unit = model.units().get(0);
                        unit.gradient("a.p0");
                        group.abort();
                        assertThatThrownBy(unit::reduce).isInstanceOf(GroupAbortedException.class);
                        assertThatThrownBy(unit::gather)
                                .isInstanceOf(UsageException.class)
                                .hasCauseInstanceOf(GroupAbortedException.class);
                    }
                });
    }

    @Test
    void wrongDescriptionsAreRefused() {
        TestRanks.onCpu(
                1,
                group -> {
                    Map<String, Runnable> calls = new HashMap<>();
                    ShardedParametersBuilder builder =
                            ShardedParameters.builder(group).unit("u", List.of(ones("x", 2)));
                    Tensor doubles = Tensor.allocate(Device.CPU, DataType.FLOAT64, 2);
                    Tensor ints = Tensor.allocate(Device.CPU, DataType.INT32, 2);
                    calls.put("group is null", () -> ShardedParameters.builder(null));
                    calls.put("there are no units", () -> ShardedParameters.builder(group).build());
                    calls.put(
                            "two units have the name 'u'",
                            () -> builder.unit("u", List.of(ones("z", 2))));
                    calls.put(
                            "two parameters have the name 'x'",
                            () -> builder.unit("v", List.of(ones("x", 2))));
                    calls.put("has parameters []", () -> builder.unit("v", List.of()));
                    calls.put(
                            "all must be of one floating point type",
                            () -> builder.unit("v", List.of(NamedTensor.of("d", doubles, 2))));
                    calls.put(
                            "'i' is int32",
                            () ->
                                    ShardedParameters.builder(group)
                                            .unit("v", List.of(NamedTensor.of("i", ints, 2))));
                    calls.put("sharding is null", () -> builder.sharding(null));
                    calls.put("wholeUnits is 0", () -> builder.wholeUnits(0));
                    calls.forEach(
                            (message, call) ->
                                    assertThatThrownBy(call::run)
                                            .isInstanceOf(UsageException.class)
                                            .hasMessageContaining(message));
                });
    }
}
