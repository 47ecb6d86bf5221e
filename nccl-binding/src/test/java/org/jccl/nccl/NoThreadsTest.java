package org.jccl.nccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.jccl.testing.Patience.expires;

import java.time.Duration;
import java.util.Map;
import org.jccl.DataType;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.store.HashStore;
import org.jccl.testing.AddressSpace;
import org.jccl.testing.ChildJvm;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A process that has no thread left for a while. */
@Tag("all")
final class NoThreadsTest {

    /** The watchdog could not cover them, and must not take that for a deadline that passed. */
    @Test
    void synchronousCallsAreCoveredWhenThereAreThreadsAgain() throws Exception {
        ChildJvm.outputOf(NoThreads.class, Map.of(), AddressSpace.LARGE_STACKS);
    }

    static final class NoThreads {

        public static void main(String[] arguments) throws Exception {
            Duration timeout = expires(Duration.ofSeconds(5));
            try (ProcessGroup group =
                            World.join(
                                    HashStore.create(timeout),
                                    0,
                                    1,
                                    timeout,
                                    NcclOptions.defaults());
                    Tensor sum = Tensor.allocate(World.GPU, DataType.FLOAT32, 1)) {
                sum.copyFrom(new float[] {1});
                // The mock reserves address space, and the thread that recorded must end.
                group.sync().allReduce(sum, ReduceOp.SUM);
                Thread.sleep(2_500);
                AddressSpace.releaseAfter(2);
                AddressSpace.fill();
                group.sync().allReduce(sum, ReduceOp.SUM);
                Thread.sleep(timeout.toMillis() + 5_000);
                group.sync().allReduce(sum, ReduceOp.SUM);
                assertThat(sum.copyTo(new float[1])).containsExactly(1);
            }
        }
    }
}
