package org.jccl.sccl;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.jccl.DataType;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.conformance.Ranks;
import org.jccl.testing.ChildJvm;
import org.jccl.testing.StuckCalls;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A thread that SCCL keeps: the calls of all others return. */
@Execution(ExecutionMode.CONCURRENT)
@Tag("all")
final class StuckCallTest {

    /** Calls a library that returns after 50 minutes. */
    static final class Stuck {

        private Stuck() {}

        public static void main(String[] arguments) {
            CountDownLatch tested = new CountDownLatch(1);
            World.run(
                    2,
                    Ranks.onThisHost(2),
                    ScclOptions.defaults(),
                    (group, device) -> {
                        if (group.rank() == 1) {
                            tested.await();
                            return;
                        }
                        try {
                            // Never freed, because the stuck call may use it.
                            Tensor stuck = Tensor.allocate(device, DataType.FLOAT32, 1);
                            Tensor tensor = Tensor.allocate(device, DataType.FLOAT32, 1);
                            boolean synchronous = Boolean.getBoolean("synchronous");
                            StuckCalls.run(
                                    group,
                                    tensor,
                                    "scclAllReduce",
                                    () -> {
                                        if (synchronous) {
                                            group.sync().allReduce(stuck, ReduceOp.SUM);
                                        } else {
                                            group.allReduce(stuck, ReduceOp.SUM);
                                        }
                                    });
                        } finally {
                            tested.countDown();
                        }
                    });
            System.out.println("the ranks are through");
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aCallThatNeverReturnsHoldsNobodyUp(boolean synchronous) throws Exception {
        Map<String, String> environment = Map.of("MOCK_SCCL_CALL_US", "3000000000");
        assertThat(ChildJvm.outputOf(Stuck.class, environment, "-Dsynchronous=" + synchronous))
                .contains(StuckCalls.ALL_RETURNED)
                .contains("the ranks are through");
    }
}
