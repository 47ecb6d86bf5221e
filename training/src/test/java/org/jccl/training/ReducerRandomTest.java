package org.jccl.training;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.ProcessGroup;
import org.jccl.Tensor;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Random models and random steps that leave gradients out, compared with a reference that adds up
 * arrays. The reference has PyTorch's semantics: a sum is divided by the number of all ranks; a
 * gradient counts as zero on a rank where no pass since the last step had it; one that no rank had
 * stays as it is, or is zero if it lives in its bucket; a rank that has joined counts as zero.
 * Values are small multiples of 12, so that each type has each result exactly. {@code
 * JCCL_TEST_REDUCER_CASES} sets the number of cases.
 */
final class ReducerRandomTest {

    private static final int CASES =
            Integer.parseInt(System.getenv().getOrDefault("JCCL_TEST_REDUCER_CASES", "150"));

    private static final List<DataType> TYPES =
            List.of(DataType.FLOAT32, DataType.FLOAT64, DataType.FLOAT16, DataType.BFLOAT16);

    @ParameterizedTest
    @ValueSource(ints = {2, 3, 4})
    void gradientsThatRanksLeaveOutAreAsTheReferenceSays(int ranks) {
        TestRanks.onCpu(
                ranks,
                group -> {
                    for (int seed = 0; seed < CASES; seed++) {
                        new Case(1000L * seed + ranks, ranks, true).run(group);
                    }
                });
    }

    @Test
    void theyAreOnDevicesToo() {
        TestRanks.onDevices(
                3,
                group -> {
                    for (int seed = 0; seed < CASES / 10; seed++) {
                        new Case(seed, 3, false).run(group);
                    }
                });
    }

    /** What one rank does in one pass: the gradients that it has, in its order. */
    private record Pass(List<Integer> order, int[][] values) {}

    /** Passes that end in one reduction; a rank that has joined has none. */
    private record Step(List<List<Pass>> ofRanks, boolean waitsInNoSync) {}

    /** A model and its steps, the same on all ranks as all have the seed. */
    private static final class Case {
        private final long seed;
        private final int ranks;
        private final Random random;
        private final List<DataType> types = new ArrayList<>();
        private final List<Integer> counts = new ArrayList<>();
        private final List<Boolean> inBucket = new ArrayList<>();
        private final List<Step> steps = new ArrayList<>();
        private final boolean uneven;
        private final boolean average;
        private final DataType wire;
        private final int firstBytes;
        private final int bytes;

        /** By rank and gradient: what its memory has. */
        private final float[][][] memory;

        Case(long seed, int ranks, boolean onCpu) {
            this.seed = seed;
            this.ranks = ranks;
            random = new Random(seed);
            int gradients = 1 + random.nextInt(10);
            boolean wired = onCpu && random.nextInt(4) == 0;
            wire = !wired ? null : random.nextBoolean() ? DataType.FLOAT16 : DataType.BFLOAT16;
            boolean oneType = random.nextBoolean();
            DataType type = TYPES.get(random.nextInt(TYPES.size()));
            for (int i = 0; i < gradients; i++) {
                DataType other = TYPES.get(random.nextInt(TYPES.size()));
                types.add(wired ? DataType.FLOAT32 : oneType ? type : other);
                counts.add(random.nextInt(5) == 0 ? random.nextInt(3000) : random.nextInt(20));
                inBucket.add(random.nextInt(4) == 0);
            }
            average = random.nextInt(4) > 0;
            uneven = random.nextInt(3) == 0;
            firstBytes = 1 + random.nextInt(300);
            bytes = 1 + random.nextInt(10_000);
            memory = new float[ranks][gradients][];
            for (float[][] ofRank : memory) {
                for (int i = 0; i < gradients; i++) {
                    ofRank[i] = new float[counts.get(i)];
                    Arrays.fill(ofRank[i], 12 * (random.nextInt(3) - 1));
                }
            }
            planSteps();
        }

        private void planSteps() {
            int count = 1 + random.nextInt(4);
            int[] last = new int[ranks];
            for (int rank = 0; rank < ranks; rank++) {
                last[rank] = uneven ? random.nextInt(count + 1) : count;
            }
            double share = random.nextDouble();
            for (int step = 0; step < count; step++) {
                int passes = random.nextInt(3) == 0 ? 1 + random.nextInt(3) : 1;
                List<List<Pass>> ofRanks = new ArrayList<>();
                for (int rank = 0; rank < ranks; rank++) {
                    List<Pass> mine = new ArrayList<>();
                    for (int pass = 0; pass < passes && step < last[rank]; pass++) {
                        mine.add(pass(share));
                    }
                    ofRanks.add(mine);
                }
                steps.add(new Step(ofRanks, random.nextBoolean()));
            }
        }

        private Pass pass(double share) {
            List<Integer> order = new ArrayList<>();
            int[][] values = new int[types.size()][];
            for (int i = 0; i < types.size(); i++) {
                if (random.nextDouble() < share) {
                    order.add(i);
                    values[i] = new int[counts.get(i)];
                    for (int k = 0; k < values[i].length; k++) {
                        values[i][k] = 12 * (random.nextInt(3) - 1);
                    }
                }
            }
            if (random.nextBoolean()) {
                Collections.shuffle(order, random);
            } else {
                Collections.reverse(order);
            }
            return new Pass(order, values);
        }

        void run(ProcessGroup group) {
            int rank = group.rank();
            Device device = group.devices().get(0);
            GradientReducerBuilder builder =
                    GradientReducer.builder(group)
                            .firstBucketBytes(firstBytes)
                            .bucketBytes(bytes)
                            .average(average)
                            .unusedGradients(true)
                            .unevenInputs(uneven);
            if (wire != null) {
                builder.wireType(wire);
            }
            List<Tensor> own = new ArrayList<>();
            for (int i = 0; i < types.size(); i++) {
                own.add(
                        inBucket.get(i)
                                ? null
                                : Tensor.allocate(device, types.get(i), counts.get(i)));
                if (inBucket.get(i)) {
                    builder.gradient("g" + i, types.get(i), counts.get(i));
                } else {
                    builder.gradient("g" + i, own.get(i));
                }
            }
            try (GradientReducer reducer = builder.build()) {
                for (int i = 0; i < own.size(); i++) {
                    own.set(i, inBucket.get(i) ? reducer.bucketView(i) : own.get(i));
                    write(own.get(i), memory[rank][i]);
                }
                boolean joined = false;
                for (int step = 0; step < steps.size(); step++) {
                    boolean[] used = expect(steps.get(step));
                    if (!steps.get(step).ofRanks.get(rank).isEmpty()) {
                        step(reducer, own, steps.get(step), rank);
                        compare(reducer, own, used, rank, step);
                    } else if (!joined) {
                        reducer.join();
                        joined = true;
                    }
                }
                if (uneven && !joined) {
                    reducer.join();
                }
                compareOwn(own, rank);
            } finally {
                for (int i = 0; i < own.size(); i++) {
                    if (!inBucket.get(i)) {
                        own.get(i).close();
                    }
                }
            }
        }

        private void step(GradientReducer reducer, List<Tensor> own, Step step, int rank) {
            List<Pass> passes = step.ofRanks.get(rank);
            boolean[] seen = new boolean[own.size()];
            for (int at = 0; at < passes.size(); at++) {
                boolean isLast = at == passes.size() - 1;
                GradientReducer.NoSync noSync = isLast ? null : reducer.noSync();
                for (int i : passes.get(at).order) {
                    float[] sum = seen[i] ? read(own.get(i)) : new float[counts.get(i)];
                    for (int k = 0; k < sum.length; k++) {
                        sum[k] += passes.get(at).values[i][k];
                    }
                    seen[i] = true;
                    write(own.get(i), sum);
                    reducer.ready(i);
                }
                if (isLast || step.waitsInNoSync) {
                    reducer.finish();
                }
                if (noSync != null) {
                    noSync.close();
                }
            }
        }

        /**
         * The reference: changes what the memory of all ranks should have, and says what is used.
         */
        private boolean[] expect(Step step) {
            boolean[] usedAnywhere = new boolean[types.size()];
            for (int i = 0; i < usedAnywhere.length; i++) {
                double[] sum = new double[counts.get(i)];
                for (int rank = 0; rank < ranks; rank++) {
                    float[] added = null;
                    for (Pass pass : step.ofRanks.get(rank)) {
                        if (pass.values[i] != null) {
                            added = added == null ? new float[sum.length] : added;
                            for (int k = 0; k < sum.length; k++) {
                                added[k] += pass.values[i][k];
                            }
                        }
                    }
                    if (added != null) {
                        usedAnywhere[i] = true;
                        for (int k = 0; k < sum.length; k++) {
                            sum[k] += added[k];
                        }
                    }
                }
                for (int rank = 0; rank < ranks && usedAnywhere[i]; rank++) {
                    for (int k = 0; k < sum.length && !step.ofRanks.get(rank).isEmpty(); k++) {
                        memory[rank][i][k] = (float) (average ? sum[k] / ranks : sum[k]);
                    }
                }
            }
            return usedAnywhere;
        }

        private void compare(
                GradientReducer reducer, List<Tensor> own, boolean[] used, int rank, int step) {
            for (int i = 0; i < used.length; i++) {
                String what = what(rank, i) + " after step " + step;
                assertThat(reducer.wasUsed(i)).as(what).isEqualTo(used[i]);
                if (used[i]) {
                    assertThat(read(own.get(i))).as(what).isEqualTo(memory[rank][i]);
                } else if (inBucket.get(i)) {
                    assertThat(read(own.get(i))).as(what).isEqualTo(new float[counts.get(i)]);
                }
            }
            compareOwn(own, rank);
        }

        /** Also what no rank had; what lies in a bucket is zero then. */
        private void compareOwn(List<Tensor> own, int rank) {
            for (int i = 0; i < own.size(); i++) {
                if (!inBucket.get(i)) {
                    assertThat(read(own.get(i))).as(what(rank, i)).isEqualTo(memory[rank][i]);
                }
            }
        }

        private String what(int rank, int gradient) {
            return "gradient " + gradient + " of rank " + rank + " in case " + seed;
        }
    }

    private static void write(Tensor tensor, float[] values) {
        switch (tensor.dataType()) {
            case FLOAT32 -> tensor.copyFrom(values);
            case FLOAT64 -> {
                double[] doubles = new double[values.length];
                for (int i = 0; i < values.length; i++) {
                    doubles[i] = values[i];
                }
                tensor.copyFrom(doubles);
            }
            default -> {
                boolean half = tensor.dataType() == DataType.FLOAT16;
                short[] bits = new short[values.length];
                for (int i = 0; i < values.length; i++) {
                    bits[i] =
                            half
                                    ? HalfFloats.toFloat16(values[i])
                                    : HalfFloats.toBfloat16(values[i]);
                }
                tensor.copyFrom(bits);
            }
        }
    }

    private static float[] read(Tensor tensor) {
        int count = Math.toIntExact(tensor.count());
        float[] values = new float[count];
        switch (tensor.dataType()) {
            case FLOAT32 -> tensor.copyTo(values);
            case FLOAT64 -> {
                double[] doubles = tensor.copyTo(new double[count]);
                for (int i = 0; i < count; i++) {
                    values[i] = (float) doubles[i];
                }
            }
            default -> {
                boolean half = tensor.dataType() == DataType.FLOAT16;
                short[] bits = tensor.copyTo(new short[count]);
                for (int i = 0; i < count; i++) {
                    values[i] =
                            half ? HalfFloats.ofFloat16(bits[i]) : HalfFloats.ofBfloat16(bits[i]);
                }
            }
        }
        return values;
    }
}
