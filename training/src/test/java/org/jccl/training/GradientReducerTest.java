package org.jccl.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.JcclException;
import org.jccl.ProcessGroup;
import org.jccl.Tensor;
import org.jccl.UsageException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

final class GradientReducerTest {

    private static final int[] COUNTS = {5, 1, 0, 40, 7, 300, 2, 9, 11, 64};

    /** What rank {@code rank} has in gradient i in a step, and what the average must be. */
    private static float value(int rank, int gradient, int step) {
        return (rank + 1) * 16 + gradient + 100 * step;
    }

    private static float average(int size, int gradient, int step) {
        float sum = 0;
        for (int rank = 0; rank < size; rank++) {
            sum += value(rank, gradient, step);
        }
        return sum / size;
    }

    private static void refused(String words, ThrowingCallable call) {
        assertThatThrownBy(call).isInstanceOf(UsageException.class).hasMessageContaining(words);
    }

    private static List<Integer> shuffled(int size, long seed) {
        List<Integer> order = new ArrayList<>(IntStream.range(0, size).boxed().toList());
        Collections.shuffle(order, new Random(seed));
        return order;
    }

    private static List<Tensor> register(GradientReducerBuilder builder, int... counts) {
        List<Tensor> gradients = new ArrayList<>();
        for (int i = 0; i < counts.length; i++) {
            gradients.add(TestRanks.filled(counts[i], -1));
            builder.gradient("g" + i, gradients.get(i));
        }
        return gradients;
    }

    private static void fill(Tensor tensor, float value) {
        tensor.copyFrom(TestRanks.filled((int) tensor.count(), value));
    }

    private static void expect(Tensor tensor, float value, String what) {
        assertThat(TestRanks.values(tensor)).as(what).containsOnly(value);
    }

    private static void expectFilled(Tensor tensor, float value, String what) {
        if (tensor.count() > 0) {
            expect(tensor, value, what);
        }
    }

    /** Ranks whose gradients come in orders of their own must still reduce like with like. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 4})
    void averagesWhateverTheOrderOnEachRank(int size) {
        TestRanks.onCpu(
                size,
                group -> {
                    GradientReducerBuilder builder =
                            GradientReducer.builder(group).firstBucketBytes(40).bucketBytes(100);
                    List<Tensor> gradients = register(builder, COUNTS);
                    try (GradientReducer reducer = builder.build()) {
                        assertThat(reducer.buckets()).hasSizeGreaterThan(3);
                        for (int step = 0; step < 30; step++) {
                            for (int i : shuffled(COUNTS.length, 31L * step + group.rank())) {
                                fill(gradients.get(i), value(group.rank(), i, step));
                                reducer.ready(i);
                            }
                            reducer.finish();
                            for (int i = 0; i < COUNTS.length; i++) {
                                String what = "step " + step + ", gradient " + i;
                                expectFilled(gradients.get(i), average(size, i, step), what);
                            }
                        }
                    }
                });
    }

    @Test
    void gradientsOfSeveralTypesAndThreads() {
        TestRanks.onCpu(
                2,
                group -> {
                    ExecutorService threads = Executors.newFixedThreadPool(4);
                    Tensor doubles = Tensor.allocate(Device.CPU, DataType.FLOAT64, 33);
                    GradientReducerBuilder builder =
                            GradientReducer.builder(group)
                                    .firstBucketBytes(1)
                                    .bucketBytes(100)
                                    .gradient("doubles", doubles);
                    List<Tensor> floats = new ArrayList<>();
                    for (int i = 1; i < 40; i++) {
                        floats.add(TestRanks.filled(i, 0));
                        builder.gradient("floats " + i, floats.get(i - 1));
                    }
                    try (GradientReducer reducer = builder.build()) {
                        for (int step = 0; step < 20; step++) {
                            double[] mine = new double[33];
                            Arrays.fill(mine, value(group.rank(), 0, step));
                            doubles.copyFrom(mine);
                            for (int i = 1; i < 40; i++) {
                                fill(floats.get(i - 1), value(group.rank(), i, step));
                            }
                            List<Future<?>> works = new ArrayList<>();
                            for (int i : shuffled(40, step * 7L + group.rank())) {
                                works.add(threads.submit(() -> reducer.ready(i)));
                            }
                            for (Future<?> work : works) {
                                work.get();
                            }
                            reducer.finish();
                            assertThat(doubles.copyTo(new double[33]))
                                    .containsOnly(average(2, 0, step));
                            for (int i = 1; i < 40; i++) {
                                expect(floats.get(i - 1), average(2, i, step), "gradient " + i);
                            }
                        }
                    } finally {
                        threads.shutdownNow();
                        doubles.close();
                    }
                });
    }

    @Test
    void bucketsFollowTheOrderInWhichGradientsCameOnRank0() {
        TestRanks.onCpu(
                2,
                group -> {
                    GradientReducerBuilder builder =
                            GradientReducer.builder(group).firstBucketBytes(4).bucketBytes(8);
                    List<Tensor> gradients = register(builder, 1, 1, 1, 1, 1);
                    try (GradientReducer reducer = builder.build()) {
                        assertThat(reducer.buckets())
                                .containsExactly(List.of(4), List.of(3, 2), List.of(1, 0));
                        List<Integer> order =
                                group.rank() == 0 ? List.of(2, 0, 4, 1, 3) : List.of(0, 1, 2, 3, 4);
                        for (int step = 0; step < 3; step++) {
                            for (int i : order) {
                                fill(gradients.get(i), value(group.rank(), i, step));
                                reducer.ready(i);
                            }
                            reducer.finish();
                            assertThat(reducer.buckets())
                                    .containsExactly(List.of(2), List.of(0, 4), List.of(1, 3));
                            for (int i = 0; i < 5; i++) {
                                expect(gradients.get(i), average(2, i, step), "gradient " + i);
                            }
                        }
                    }
                });
    }

    @Test
    void gradientsMayLiveInTheirBuckets() {
        TestRanks.onCpu(
                3,
                group -> {
                    int[] rebuilt = {0};
                    try (GradientReducer fixed = inBuckets(group).build();
                            GradientReducer moved =
                                    inBuckets(group).onRebuild(() -> rebuilt[0]++).build()) {
                        for (GradientReducer reducer : List.of(fixed, moved)) {
                            for (int step = 0; step < 3; step++) {
                                for (int i = 0; i < 4; i++) {
                                    Tensor view = reducer.bucketView(i);
                                    fill(view, value(group.rank(), i, step));
                                    reducer.ready(i);
                                }
                                reducer.finish();
                                for (int i = 0; i < 4; i++) {
                                    Tensor view = reducer.bucketView(i);
                                    expect(view, average(3, i, step), "gradient " + i);
                                }
                            }
                        }
                        assertThat(rebuilt[0]).isEqualTo(1);
                        assertThat(fixed.buckets()).startsWith(List.of(3));
                        assertThat(moved.buckets()).startsWith(List.of(0));
                    }
                });
    }

    private static GradientReducerBuilder inBuckets(ProcessGroup group) {
        GradientReducerBuilder builder =
                GradientReducer.builder(group).firstBucketBytes(8).bucketBytes(100);
        for (int i = 0; i < 4; i++) {
            builder.gradient("g" + i, DataType.FLOAT32, 10 + i);
        }
        return builder;
    }

    @Test
    void bucketsMayLieInMemoryOfTheProgram() {
        TestRanks.onCpu(
                2,
                group -> {
                    List<Tensor> given = new ArrayList<>();
                    BucketMemory allocator =
                            (device, type, count) -> {
                                given.add(TestRanks.filled((int) count, 9));
                                return given.get(given.size() - 1);
                            };
                    int[] rebuilt = {0};
                    try (GradientReducer reducer =
                            inBuckets(group)
                                    .bucketMemory(allocator)
                                    .onRebuild(() -> rebuilt[0]++)
                                    .build()) {
                        for (int step = 0; step < 3; step++) {
                            for (int i = 0; i < 4; i++) {
                                fill(reducer.bucketView(i), value(group.rank(), i, step));
                                reducer.ready(i);
                            }
                            reducer.finish();
                            for (int i = 0; i < 4; i++) {
                                Tensor view = reducer.bucketView(i);
                                expect(view, average(2, i, step), "gradient " + i);
                                assertThat(given)
                                        .as("memory of gradient " + i)
                                        .anyMatch(memory -> contains(memory, view));
                            }
                        }
                    }
                    assertThat(rebuilt[0]).isEqualTo(1);
                });
    }

    private static boolean contains(Tensor memory, Tensor part) {
        return memory.address() <= part.address()
                && part.address() + part.byteSize() <= memory.address() + memory.byteSize();
    }

    @Test
    void memoryThatIsNotWhatABucketAskedForIsRefused() {
        TestRanks.onCpu(
                1,
                group -> {
                    List<BucketMemory> wrong =
                            List.of(
                                    (device, type, count) -> null,
                                    (device, type, count) -> TestRanks.filled((int) count - 1, 0),
                                    (device, type, count) ->
                                            Tensor.of(
                                                    ByteBuffer.allocateDirect(8 * (int) count)
                                                            .order(ByteOrder.nativeOrder()),
                                                    DataType.FLOAT64));
                    for (BucketMemory allocator : wrong) {
                        refused(
                                "bucketMemory was called for float32",
                                () -> inBuckets(group).bucketMemory(allocator).build());
                    }
                    refused("allocator is null", () -> inBuckets(group).bucketMemory(null));
                });
    }

    /** The rank that has everything must learn it too, and nobody hangs. */
    @Test
    void allRanksNameTheGradientThatNeverComes() {
        TestRanks.onCpu(
                3,
                group -> {
                    GradientReducerBuilder builder =
                            GradientReducer.builder(group).firstBucketBytes(4).bucketBytes(4);
                    List<Tensor> gradients = register(builder, 3, 3, 3);
                    try (GradientReducer reducer = builder.build()) {
                        for (int round = 0; round < 3; round++) {
                            for (int i = 0; i < 3; i++) {
                                fill(gradients.get(i), group.rank());
                                if (group.rank() != 1 || i == 0) {
                                    reducer.ready(i);
                                }
                            }
                            MissingGradientException e =
                                    catchThrowableOfType(
                                            MissingGradientException.class, reducer::finish);
                            assertThat(e.reason())
                                    .contains(
                                            "'g1' (float32 x 3) on rank 1, 'g2' (float32 x 3) on"
                                                    + " rank 1;")
                                    .doesNotContain("g0");
                            expect(gradients.get(0), group.rank(), "as it was");
                            step(reducer, gradients, group, round);
                        }
                    }
                });
    }

    @ParameterizedTest
    @EnumSource(names = {"FLOAT16", "BFLOAT16", "FLOAT32", "FLOAT64"})
    void whatIsMissingIsNamedInEveryType(DataType type) {
        TestRanks.onCpu(
                2,
                group -> {
                    try (GradientReducer reducer =
                            GradientReducer.builder(group)
                                    .gradient("a", type, 3)
                                    .gradient("b", type, 5)
                                    .build()) {
                        for (int step = 0; step < 4; step++) {
                            reducer.ready(0);
                            if (step % 2 == 0 || group.rank() == 0) {
                                reducer.ready(1);
                            }
                            if (step % 2 == 0) {
                                reducer.finish();
                            } else {
                                assertThatThrownBy(reducer::finish)
                                        .isInstanceOf(MissingGradientException.class)
                                        .hasMessageContaining("'b' (" + type + " x 5) on rank 1;");
                            }
                        }
                    }
                });
    }

    private static void step(
            GradientReducer reducer, List<Tensor> gradients, ProcessGroup group, int step) {
        for (int i = gradients.size() - 1; i >= 0; i--) {
            fill(gradients.get(i), value(group.rank(), i, step));
            reducer.ready(i);
        }
        reducer.finish();
        for (int i = 0; i < gradients.size(); i++) {
            expect(gradients.get(i), average(group.size(), i, step), "gradient " + i);
        }
    }

    @Test
    void messagesCountInTheRightNumber() {
        TestRanks.onCpu(
                2,
                group -> {
                    GradientReducerBuilder builder = GradientReducer.builder(group);
                    register(builder, 2);
                    try (GradientReducer reducer = builder.build()) {
                        assertThat(reducer).hasToString("1 gradient in 1 bucket on cpu");
                        assertThatThrownBy(() -> reducer.ready(1))
                                .isInstanceOf(UsageException.class)
                                .hasMessageContaining("no gradient 1; the reducer has 1 gradient");
                    }
                    builder = GradientReducer.builder(group).firstBucketBytes(4).bucketBytes(4);
                    register(builder, 2, 2);
                    try (GradientReducer reducer = builder.build()) {
                        assertThat(reducer).hasToString("2 gradients in 2 buckets on cpu");
                    }
                });
    }

    @Test
    void unusedGradientsCountAsZeroAndStayWhereNobodyHasThem() {
        TestRanks.onCpu(
                2,
                group -> {
                    GradientReducerBuilder builder =
                            GradientReducer.builder(group)
                                    .firstBucketBytes(4)
                                    .bucketBytes(4)
                                    .unusedGradients(true);
                    List<Tensor> gradients = register(builder, 2, 2, 2);
                    try (GradientReducer reducer = builder.build()) {
                        for (int round = 0; round < 3; round++) {
                            gradients.forEach(gradient -> fill(gradient, 8));
                            reducer.ready(0);
                            if (group.rank() == 1) {
                                reducer.ready(1);
                            }
                            reducer.finish();
                            expect(gradients.get(0), 8, "of both ranks");
                            expect(gradients.get(1), 4, "of one rank");
                            expect(gradients.get(2), 8, "of no rank");
                            assertThat(List.of(0, 1, 2))
                                    .map(reducer::wasUsed)
                                    .containsExactly(true, true, false);
                        }
                        step(reducer, gradients, group, 0);
                    }
                });
    }

    @Test
    void accumulatesWithoutSyncAndAveragesThen() {
        TestRanks.onCpu(
                2,
                group -> {
                    GradientReducerBuilder builder = GradientReducer.builder(group);
                    List<Tensor> gradients = register(builder, 4, 4);
                    try (GradientReducer reducer = builder.build()) {
                        for (int round = 0; round < 3; round++) {
                            try (GradientReducer.NoSync outer = reducer.noSync()) {
                                try (GradientReducer.NoSync inner = reducer.noSync()) {
                                    assertThat(inner).isNotSameAs(outer);
                                }
                                gradients.forEach(gradient -> fill(gradient, group.rank()));
                                reducer.ready(0);
                                reducer.ready(1);
                                reducer.finish();
                            }
                            expect(gradients.get(0), group.rank(), "not yet");
                            // Gradient 1 came only before, and counts all the same.
                            reducer.ready(0);
                            reducer.finish();
                            expect(gradients.get(0), 0.5f, "average");
                            expect(gradients.get(1), 0.5f, "average of what was accumulated");
                        }
                    }
                });
    }

    @Test
    void ranksMayHaveDifferentNumbersOfBatches() {
        TestRanks.onCpu(
                3,
                group -> {
                    GradientReducerBuilder builder =
                            GradientReducer.builder(group)
                                    .firstBucketBytes(4)
                                    .bucketBytes(4)
                                    .unevenInputs(true);
                    List<Tensor> gradients = register(builder, 2, 3);
                    try (GradientReducer reducer = builder.build()) {
                        for (int epoch = 0; epoch < 2; epoch++) {
                            int[] batches = epoch == 0 ? new int[] {0, 4, 2} : new int[] {3, 1, 0};
                            for (int batch = 0; batch < batches[group.rank()]; batch++) {
                                float sum = 0;
                                for (int rank = 0; rank < 3; rank++) {
                                    sum += batch < batches[rank] ? 3 * (rank + 1) : 0;
                                }
                                for (int i = 0; i < 2; i++) {
                                    fill(gradients.get(i), 3 * (group.rank() + 1));
                                    reducer.ready(i);
                                }
                                reducer.finish();
                                expect(gradients.get(0), sum / 3, "batch " + batch);
                                expect(gradients.get(1), sum / 3, "batch " + batch);
                            }
                            assertThat(reducer.join()).isEqualTo(epoch == 0 ? 1 : 0);
                        }
                    }
                });
    }

    @ParameterizedTest
    @EnumSource(names = {"BFLOAT16", "FLOAT16"})
    void roundsOnTheWireOnly(DataType wire) {
        TestRanks.onCpu(
                2,
                group -> {
                    GradientReducerBuilder builder = GradientReducer.builder(group).wireType(wire);
                    List<Tensor> gradients = register(builder, 10_000, 3);
                    try (GradientReducer reducer = builder.build()) {
                        fill(gradients.get(0), 1 + 0x1p-14f); // rounds to 1 in both
                        fill(gradients.get(1), group.rank() == 0 ? 96 : 32);
                        reducer.ready(1);
                        reducer.ready(0);
                        reducer.finish();
                        expect(gradients.get(0), 1, "rounded");
                        expect(gradients.get(1), 64, "exact");
                    }
                });
    }

    /** The average has a number in float16, the sum has none. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 4})
    void averagesOfFloat16AreDividedBeforeTheyAreAddedUp(int size) {
        TestRanks.onCpu(
                size,
                group -> {
                    float large = 40_000;
                    int count = 5_000; // more than one piece
                    GradientReducerBuilder onTheWire =
                            GradientReducer.builder(group).wireType(DataType.FLOAT16);
                    List<Tensor> gradients = register(onTheWire, count);
                    try (GradientReducer reducer = onTheWire.build()) {
                        fill(gradients.get(0), large);
                        reducer.ready(0);
                        reducer.finish();
                        expect(gradients.get(0), large, "on the wire");
                    }
                    short[] bits = new short[count];
                    Arrays.fill(bits, HalfFloats.toFloat16(large));
                    try (GradientReducer reducer =
                            GradientReducer.builder(group)
                                    .gradient("half", DataType.FLOAT16, count)
                                    .build()) {
                        reducer.bucketView(0).copyFrom(bits);
                        reducer.ready(0);
                        reducer.finish();
                        assertThat(reducer.bucketView(0).copyTo(new short[count]))
                                .containsExactly(bits);
                    }
                });
    }

    @Test
    void sumsWhereAskedTo() {
        TestRanks.onCpu(
                2,
                group -> {
                    GradientReducerBuilder builder = GradientReducer.builder(group).average(false);
                    List<Tensor> gradients = register(builder, 3);
                    try (GradientReducer reducer = builder.build()) {
                        fill(gradients.get(0), group.rank() + 1);
                        reducer.ready(0);
                        reducer.finish();
                        expect(gradients.get(0), 3, "sum");
                    }
                });
    }

    @Test
    void differentModelsAreNamedOnAllRanks() {
        TestRanks.onCpu(
                3,
                group -> {
                    boolean other = group.rank() == 2;
                    Tensor small = TestRanks.filled(3, 0);
                    Tensor large = TestRanks.filled(4, 0);
                    different(
                            "rank 0 has gradient 1 'b' (float32 x 3), rank 2 has gradient 1 'b'"
                                    + " (float32 x 4)",
                            GradientReducer.builder(group)
                                    .gradient("a", DataType.FLOAT32, 1)
                                    .gradient("b", other ? large : small));
                    different(
                            "rank 0 has gradient 0 'a' (float32 x 3), rank 2 has gradient 0 'c'",
                            GradientReducer.builder(group).gradient(other ? "c" : "a", small));
                    different(
                            "rank 0 has nothing there, rank 2 has gradient 1 'more'",
                            other
                                    ? GradientReducer.builder(group)
                                            .gradient("a", small)
                                            .gradient("more", large)
                                    : GradientReducer.builder(group).gradient("a", small));
                    different(
                            "bucketBytes 7",
                            GradientReducer.builder(group)
                                    .gradient("a", small)
                                    .bucketBytes(other ? 7 : 8));
                    GradientReducer.builder(group).gradient("a", small).build().close();
                });
    }

    private static void different(String words, GradientReducerBuilder builder) {
        assertThatThrownBy(builder::build)
                .isInstanceOf(DifferentModelsException.class)
                .hasMessageContaining(words);
    }

    @Test
    void wrongUseIsRefused() {
        TestRanks.onCpu(
                1,
                group -> {
                    Tensor whole = TestRanks.filled(4, 0);
                    refused("group is null", () -> GradientReducer.builder(null));
                    refused("no gradient", () -> GradientReducer.builder(group).build());
                    refused(
                            "'a' is registered twice",
                            () ->
                                    GradientReducer.builder(group)
                                            .gradient("a", DataType.FLOAT32, 1)
                                            .gradient("a", DataType.FLOAT32, 1));
                    refused(
                            "'a' (float32 x 3) and 'b' (float32 x 2) overlap",
                            () ->
                                    GradientReducer.builder(group)
                                            .gradient("b", whole.slice(2, 2))
                                            .gradient("a", whole.slice(0, 3))
                                            .build());
                    refused(
                            "'a' is of int32",
                            () -> GradientReducer.builder(group).gradient("a", DataType.INT32, 1));
                    refused(
                            "on cpu, others are on cuda",
                            () ->
                                    GradientReducer.builder(group)
                                            .device(new Device("cuda", 0))
                                            .gradient("a", whole)
                                            .build());
                    refused(
                            "wireType is for float32",
                            () ->
                                    GradientReducer.builder(group)
                                            .wireType(DataType.BFLOAT16)
                                            .gradient("a", DataType.FLOAT64, 1)
                                            .build());
                    GradientReducerBuilder builder = GradientReducer.builder(group);
                    List<Tensor> gradients = register(builder, 3, 3);
                    GradientReducer reducer = builder.build();
                    refused("no gradient 2", () -> reducer.ready(2));
                    refused("no gradient -1", () -> reducer.bucketView(-1));
                    refused("unevenInputs", reducer::join);
                    reducer.ready(1);
                    refused("'g1' (float32 x 3) became ready twice", () -> reducer.ready(1));
                    refused("within a step", reducer::noSync);
                    reducer.ready(0);
                    reducer.finish();
                    gradients.get(0).close();
                    reducer.ready(1);
                    refused("closed", () -> reducer.ready(0));
                    assertThatThrownBy(reducer::finish)
                            .isInstanceOf(MissingGradientException.class)
                            .hasMessageContaining("'g0'");
                    reducer.close();
                    reducer.close();
                    refused("the reducer is closed", () -> reducer.ready(0));
                    refused("the reducer is closed", reducer::finish);
                });
    }

    @Test
    void afterAFailureOfTheGroupNothingGoesOn() {
        TestRanks.onCpu(
                1,
                group -> {
                    GradientReducerBuilder builder = GradientReducer.builder(group);
                    register(builder, 3);
                    try (GradientReducer reducer = builder.build()) {
                        group.abort();
                        assertThatThrownBy(() -> reducer.ready(0))
                                .isInstanceOf(JcclException.class);
                        refused("has failed before", () -> reducer.ready(0));
                        refused("has failed before", reducer::finish);
                    }
                });
    }

    /** The others have made their buckets anew: in the old ones other gradients would meet. */
    @Test
    void whereMemoryWasMissingNothingGoesOn() {
        TestRanks.onCpu(
                2,
                group -> {
                    int[] asked = {0};
                    GradientReducerBuilder builder =
                            GradientReducer.builder(group)
                                    .firstBucketBytes(4)
                                    .bucketBytes(4)
                                    .bucketMemory(
                                            (device, type, count) -> {
                                                if (group.rank() == 1 && asked[0]++ == 2) {
                                                    throw new OutOfMemoryError("by intent");
                                                }
                                                return Tensor.allocate(device, type, count);
                                            });
                    register(builder, 3, 3);
                    try (GradientReducer reducer = builder.build()) {
                        reducer.ready(0);
                        reducer.ready(1);
                        if (group.rank() == 0) {
                            reducer.finish();
                            return;
                        }
                        assertThatThrownBy(reducer::finish).isInstanceOf(OutOfMemoryError.class);
                        refused("has failed before", () -> reducer.ready(0));
                        refused("by intent", reducer::finish);
                    }
                });
    }

    @Test
    void parametersComeFromTheRoot() {
        TestRanks.onCpu(
                3,
                group -> {
                    List<Tensor> parameters = new ArrayList<>();
                    for (int i = 0; i < 5; i++) {
                        parameters.add(TestRanks.filled(i * 10, group.rank() + i));
                    }
                    Tensor large = Tensor.allocate(Device.CPU, DataType.FLOAT32, 7_000_000);
                    Tensor longs = Tensor.copyOf(new long[] {group.rank()});
                    parameters.add(2, large);
                    parameters.add(longs);
                    large.slice(6_999_999, 1).copyFrom(new float[] {group.rank()});
                    GradientReducer.broadcastParameters(group, parameters, 1);
                    for (int i = 0; i < 2; i++) {
                        expectFilled(parameters.get(i), 1 + i, "parameter " + i);
                        expectFilled(parameters.get(5 - i), 1 + 4 - i, "parameter");
                    }
                    assertThat(longs.copyTo(new long[1])).containsExactly(1);
                    assertThat(large.slice(6_999_999, 1).copyTo(new float[1])).containsExactly(1);
                    large.close();
                    longs.close();
                    refused(
                            "parameters is empty",
                            () -> GradientReducer.broadcastParameters(group, List.of(), 0));
                    refused(
                            "group is null",
                            () -> GradientReducer.broadcastParameters(null, List.of(), 0));
                });
    }

    @Test
    void modelsAreComparedBeforeTheyAreCopied() {
        TestRanks.onCpu(
                3,
                group -> {
                    Tensor weight = TestRanks.filled(6, group.rank());
                    Tensor counter = Tensor.copyOf(new long[] {group.rank()});
                    NamedTensor counted = NamedTensor.of("counter", counter);
                    long columns = group.rank() == 2 ? 3 : 2;
                    List<NamedTensor> different =
                            List.of(
                                    counted,
                                    NamedTensor.of("weight", weight, 6 / columns, columns));
                    assertThatThrownBy(() -> GradientReducer.broadcastModel(group, different, 1))
                            .isInstanceOf(DifferentModelsException.class)
                            .hasMessageContaining(
                                    "rank 0 has 'weight' (float32 [3, 2]), rank 2 has 'weight'"
                                            + " (float32 [2, 3])");
                    expect(weight, group.rank(), "as it was");
                    NamedTensor tied = NamedTensor.of("head", weight, 6);
                    assertThatThrownBy(
                                    () ->
                                            GradientReducer.broadcastModel(
                                                    group,
                                                    List.of(
                                                            NamedTensor.of("weight", weight, 6),
                                                            group.rank() == 2
                                                                    ? tied
                                                                    : NamedTensor.of(
                                                                            "head",
                                                                            TestRanks.filled(6, 0),
                                                                            6)),
                                                    1))
                            .isInstanceOf(DifferentModelsException.class)
                            .hasMessageContaining(
                                    "rank 2 has 'head' (float32 [6]) in the memory of 'weight'");
                    refused(
                            "'weight' and 'part' overlap in memory",
                            () ->
                                    GradientReducer.broadcastModel(
                                            group,
                                            List.of(
                                                    NamedTensor.of("weight", weight, 6),
                                                    NamedTensor.of("part", weight.slice(3, 3), 3)),
                                            1));
                    List<NamedTensor> same =
                            List.of(counted, NamedTensor.of("weight", weight, 3, 2), tied);
                    GradientReducer.broadcastModel(group, same, 1);
                    expect(weight, 1, "of rank 1");
                    assertThat(counter.copyTo(new long[1])).containsExactly(1);
                    counter.close();
                    refused("empty", () -> GradientReducer.broadcastModel(group, List.of(), 0));
                    refused("null", () -> GradientReducer.broadcastModel(group, null, 0));
                    refused("null", () -> GradientReducer.broadcastModel(null, same, 0));
                    refused(
                            "parameters.get(0) is null",
                            () ->
                                    GradientReducer.broadcastModel(
                                            group, Collections.singletonList(null), 0));
                });
    }
}
