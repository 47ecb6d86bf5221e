package org.jccl.sccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.jccl.testing.Patience.enough;

import java.time.Duration;
import java.util.Map;
import org.jccl.DataType;
import org.jccl.JcclException;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.testing.ChildJvm;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** Ranks that differ: told apart once they are stuck, in a process of their own. */
@Execution(ExecutionMode.CONCURRENT)
@Tag("all")
final class MismatchTest {

    /** Two ranks whose first sums differ; prints what failed. */
    static final class SumOfDifferentCounts {

        private SumOfDifferentCounts() {}

        public static void main(String[] arguments) throws Exception {
            World.run(
                    2,
                    enough(Duration.ofSeconds(60)),
                    ScclOptions.defaults(),
                    (group, device) -> {
                        // Not closed: the device may still use it.
                        Tensor tensor = Tensor.allocate(device, DataType.FLOAT32, 4);
                        try {
                            group.allReduce(tensor.slice(0, 2 + group.rank()), ReduceOp.SUM);
                            group.barrier().await();
                        } catch (JcclException e) {
                            System.out.println(
                                    e.getClass().getSimpleName() + ": " + e.getMessage());
                        }
                    });
        }
    }

    @Test
    void bothRanksLearnWhatTheOtherDid() throws Exception {
        assertThat(ChildJvm.outputOf(SumOfDifferentCounts.class, Map.of()))
                .contains("MismatchException: group 'world', rank 0")
                .contains("MismatchException: group 'world', rank 1")
                .contains("allReduce(float32 x 2, SUM)")
                .contains("allReduce(float32 x 3, SUM)");
    }
}
