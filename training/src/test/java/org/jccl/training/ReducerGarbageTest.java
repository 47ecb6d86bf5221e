package org.jccl.training;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import org.jccl.ProcessGroup;
import org.jccl.Tensor;
import org.junit.jupiter.api.Test;

/** What a step of a reducer leaves to the garbage collector. */
final class ReducerGarbageTest {

    private static final int GRADIENTS = 200;
    private static final int STEPS = 500;

    @Test
    void aStepOf200GradientsMakesLessThanAKilobyte() {
        TestRanks.onCpu(
                2,
                group -> {
                    GradientReducerBuilder builder =
                            GradientReducer.builder(group).bucketBytes(1 << 20);
                    List<Tensor> gradients = new ArrayList<>();
                    for (int i = 0; i < GRADIENTS; i++) {
                        gradients.add(TestRanks.filled(5_000, i));
                        builder.gradient("g" + i, gradients.get(i));
                    }
                    try (GradientReducer reducer = builder.build()) {
                        steps(reducer, STEPS);
                        assertThat(reducer.buckets()).hasSize(4);
                        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
                        long before = threads.getCurrentThreadAllocatedBytes();
                        steps(reducer, STEPS);
                        long after = threads.getCurrentThreadAllocatedBytes();
                        report(group, (after - before) / STEPS);
                        assertThat((after - before) / STEPS).isLessThan(1024);
                    }
                });
    }

    private static void report(ProcessGroup group, long bytes) {
        if (group.rank() == 0) {
            System.out.println(bytes + " bytes a step of " + GRADIENTS + " gradients");
        }
    }

    private static void steps(GradientReducer reducer, int steps) {
        for (int step = 0; step < steps; step++) {
            for (int i = GRADIENTS - 1; i >= 0; i--) {
                reducer.ready(i);
            }
            reducer.finish();
        }
    }
}
