package org.jccl.gloo;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.junit.jupiter.api.Test;

/** A world of one rank, as a unit test of a user has it. */
class SingleTest {

    @Test
    void aWorldOfOneRankNeedsNoLauncher() {
        try (ProcessGroup world = ProcessGroup.single("gloo");
                ProcessGroup second = ProcessGroup.single("cpu:gloo");
                Tensor x = Tensor.copyOf(new float[] {3, 4})) {
            assertThat(world.size()).isEqualTo(1);
            assertThat(world.rank()).isZero();
            world.sync().allReduce(x, ReduceOp.SUM);
            second.allReduce(x, ReduceOp.MAX).await();
            assertThat(x.copyTo(new float[2])).containsExactly(3, 4);
            world.sync().barrier();
            try (ProcessGroup part = world.newGroup(List.of(0)).orElseThrow()) {
                part.sync().allReduce(x, ReduceOp.AVG);
            }
            assertThat(x.copyTo(new float[2])).containsExactly(3, 4);
        }
    }
}
