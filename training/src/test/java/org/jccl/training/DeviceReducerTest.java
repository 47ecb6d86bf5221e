package org.jccl.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.ProcessGroup;
import org.jccl.Stream;
import org.jccl.Tensor;
import org.jccl.UsageException;
import org.junit.jupiter.api.Test;

/** On streams, whose operations are delayed at random: a wait that is missing gives wrong data. */
final class DeviceReducerTest {

    private static final int COUNT = 300;
    private static final int GRADIENTS = 6;

    private static float[] filled(float value) {
        float[] values = new float[COUNT];
        Arrays.fill(values, value);
        return values;
    }

    private static float value(int rank, int gradient, int step) {
        return 8 * rank + gradient + 100 * step;
    }

    private interface Gradients {
        Tensor get(int index);
    }

    /** Gradients are produced on two streams and averaged in the order of a third. */
    private static void train(ProcessGroup group, boolean views) {
        Device device = group.devices().get(0);
        GradientReducerBuilder builder =
                GradientReducer.builder(group).firstBucketBytes(4 * COUNT).bucketBytes(8 * COUNT);
        List<Tensor> own = new ArrayList<>();
        List<Tensor> produced = new ArrayList<>();
        for (int i = 0; i < GRADIENTS; i++) {
            own.add(TestRanks.tensor(device, filled(-1)));
            produced.add(TestRanks.tensor(device, filled(-1)));
            if (views) {
                builder.gradient("g" + i, DataType.FLOAT32, COUNT);
            } else {
                builder.gradient("g" + i, own.get(i));
            }
        }
        if (views) {
            builder.onRebuild(() -> {});
        }
        try (Stream first = Stream.create(device, false);
                Stream second = Stream.create(device, false);
                GradientReducer reducer = builder.build()) {
            Gradients gradients = views ? reducer::bucketView : own::get;
            for (int step = 0; step < 8; step++) {
                for (int i = 0; i < GRADIENTS; i++) {
                    produced.get(i).copyFrom(filled(value(group.rank(), i, step)));
                }
                for (int k = 0; k < GRADIENTS; k++) {
                    int i = (k * 5 + group.rank()) % GRADIENTS; // another order on each rank
                    try (Stream.Scope use = (k % 2 == 0 ? first : second).use()) {
                        gradients.get(i).copyFrom(produced.get(i));
                        reducer.ready(i);
                        assertThat(use).isNotNull();
                    }
                }
                reducer.finish();
                for (int i = 0; i < GRADIENTS; i++) {
                    float sum = 0;
                    for (int rank = 0; rank < group.size(); rank++) {
                        sum += value(rank, i, step);
                    }
                    assertThat(gradients.get(i).copyTo(new float[COUNT]))
                            .as("step %d, gradient %d", step, i)
                            .containsOnly(sum / group.size());
                }
            }
        }
        own.forEach(Tensor::close);
        produced.forEach(Tensor::close);
    }

    @Test
    void averagesWhatStreamsProduce() {
        TestRanks.onDevices(2, group -> train(group, false));
    }

    @Test
    void averagesWhatStreamsProduceInBuckets() {
        TestRanks.onDevices(2, group -> train(group, true));
    }

    @Test
    void unusedAndUnevenOnDevices() {
        TestRanks.onDevices(
                2,
                group -> {
                    Device device = group.devices().get(0);
                    Tensor used = TestRanks.tensor(device, filled(4));
                    Tensor unused = TestRanks.tensor(device, filled(4));
                    try (GradientReducer reducer =
                            GradientReducer.builder(group)
                                    .gradient("used", used)
                                    .gradient("unused", unused)
                                    .firstBucketBytes(1)
                                    .unusedGradients(true)
                                    .unevenInputs(true)
                                    .build()) {
                        if (group.rank() == 1) {
                            reducer.ready(0);
                            reducer.finish();
                            assertThat(used.copyTo(new float[COUNT])).containsOnly(2);
                            assertThat(unused.copyTo(new float[COUNT])).containsOnly(4);
                        }
                        assertThat(reducer.join()).isEqualTo(1);
                    }
                    used.close();
                    unused.close();
                });
    }

    @Test
    void aMissingGradientIsNamedWhereItIsMissing() {
        TestRanks.onDevices(
                1,
                group -> {
                    Tensor gradient = TestRanks.tensor(group.devices().get(0), filled(4));
                    try (GradientReducer reducer =
                            GradientReducer.builder(group)
                                    .gradient("a", DataType.FLOAT32, 3)
                                    .gradient("b", gradient)
                                    .build()) {
                        reducer.ready(0);
                        assertThatThrownBy(reducer::finish)
                                .isInstanceOf(MissingGradientException.class)
                                .hasMessageContaining("'b' (float32 x 300)");
                        assertThatThrownBy(() -> reducer.ready(1))
                                .isInstanceOf(UsageException.class)
                                .hasMessageContaining("'b' (float32 x 300)");
                    }
                    gradient.close();
                });
    }
}
