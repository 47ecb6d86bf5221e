package org.jccl.nccl;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.jccl.DataType;
import org.jccl.JcclException;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Store;
import org.jccl.Stream;
import org.jccl.Tensor;
import org.jccl.conformance.Ranks;
import org.jccl.testing.ChildJvm;
import org.jccl.testing.StuckCalls;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Threads that no revoke gets out of NCCL: the calls of all others return. */
@Tag("mocked-nccl")
@Execution(ExecutionMode.CONCURRENT)
@Tag("all")
final class StuckCallTest {

    private static final Duration SHORT = Ranks.onThisHost(2);

    /** A split that a rank leaves, and calls on the parent from then on. */
    static final class Split {

        private Split() {}

        public static void main(String[] arguments) {
            CountDownLatch failed = new CountDownLatch(1);
            new NcclBackend(NcclOptions.defaults())
                    .ranks()
                    .run(2, SHORT, rank -> run(rank.group(), rank.store(), failed));
            System.out.println("the ranks are through");
        }

        private static void run(ProcessGroup group, Store store, CountDownLatch failed)
                throws InterruptedException {
            if (group.rank() == 1) {
                store.set(
                        SplitTest.world(store, 2) + "world/split/0/1",
                        "0 0".getBytes(StandardCharsets.UTF_8));
                failed.await();
                return;
            }
            try {
                print("split", () -> group.split(0, 0));
                print("barrier", () -> group.barrier().synchronize());
                print("second split", () -> group.split(0, 0));
                Stream.current(World.gpu(0)).synchronize();
                group.close();
            } finally {
                failed.countDown();
            }
        }

        private static void print(String what, Runnable call) {
            try {
                call.run();
                System.out.println(what + " returned");
            } catch (JcclException e) {
                System.out.println(what + ": " + e);
            }
        }
    }

    @Test
    void aSplitThatARankLeavesEndsTheCallsOnItsParent() throws Exception {
        assertThat(ChildJvm.outputOf(Split.class, Map.of("MOCK_NCCL_REVOKE_MISSED", "1")))
                .containsPattern("split: .*OperationTimeoutException.*ncclCommSplit did not finish")
                // The reason of the split, although no watchdog has seen it.
                .containsPattern("barrier: .*GroupAbortedException.*ncclCommSplit did not finish")
                .contains("second split: ")
                .contains("the ranks are through");
    }

    /** Reaches a peer for the first time, which does not come. */
    static final class FirstContact {

        private FirstContact() {}

        public static void main(String[] arguments) {
            CountDownLatch tested = new CountDownLatch(1);
            World.run(
                    2,
                    SHORT,
                    NcclOptions.defaults(),
                    (group, device) -> {
                        if (group.rank() == 1) {
                            tested.await();
                            return;
                        }
                        try (Tensor stuck = Tensor.allocate(device, DataType.FLOAT32, 1);
                                Tensor tensor = Tensor.allocate(device, DataType.FLOAT32, 1)) {
                            boolean synchronous = Boolean.getBoolean("synchronous");
                            StuckCalls.run(
                                    group,
                                    tensor,
                                    "allReduce",
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
    void aThreadThatNeverReachesItsPeerHoldsNobodyUp(boolean synchronous) throws Exception {
        Map<String, String> environment =
                Map.of("MOCK_NCCL_CONNECT", "-1", "MOCK_NCCL_REVOKE_MISSED", "1");
        assertThat(
                        ChildJvm.outputOf(
                                FirstContact.class, environment, "-Dsynchronous=" + synchronous))
                .contains(StuckCalls.ALL_RETURNED)
                .contains("the ranks are through");
    }
}
