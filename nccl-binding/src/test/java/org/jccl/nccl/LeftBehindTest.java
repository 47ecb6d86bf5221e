package org.jccl.nccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.jccl.testing.Patience.expires;

import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.bytedeco.cuda.cudart.CUgraphExec_st;
import org.bytedeco.cuda.global.cudart;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.JcclException;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Stream;
import org.jccl.Tensor;
import org.jccl.conformance.Ranks;
import org.jccl.testing.ChildJvm;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Communicators that NCCL cannot end yet. To free one under a thread or graph ends the process. */
@Execution(ExecutionMode.CONCURRENT)
@Tag("all")
final class LeftBehindTest {

    /** Closes a group before the graph that captured one of its collectives. */
    static final class LivingGraph {

        private LivingGraph() {}

        public static void main(String[] arguments) {
            boolean blocking = Boolean.getBoolean("blocking");
            World.run(
                    2,
                    World.TIMEOUT,
                    NcclOptions.builder().blocking(blocking).build(),
                    (group, device) -> {
                        try (Stream stream = Stream.create(device, false);
                                Tensor tensor = Tensor.allocate(device, DataType.FLOAT32, 1)) {
                            CUgraphExec_st graph = capture(group, tensor, stream);
                            group.close();
                            GraphTest.check(cudart.cudaGraphLaunch(graph, Gpu.handle(stream)));
                            stream.synchronize();
                            GraphTest.check(cudart.cudaGraphExecDestroy(graph));
                        }
                    });
            System.out.println("the graphs are gone");
        }
    }

    private static CUgraphExec_st capture(ProcessGroup group, Tensor tensor, Stream stream) {
        try (Stream.Scope scope = stream.use()) {
            assertThat(scope).isNotNull();
            group.allReduce(tensor, ReduceOp.SUM).synchronize();
            GraphTest.begin(stream, cudart.cudaStreamCaptureModeThreadLocal);
            group.allReduce(tensor, ReduceOp.SUM).await();
            return GraphTest.end(stream);
        }
    }

    @Tag("mocked-nccl")
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void groupThatIsClosedBeforeItsGraphsIsNotAborted(boolean blocking) throws Exception {
        assertThat(ChildJvm.outputOf(LivingGraph.class, Map.of(), "-Dblocking=" + blocking))
                .contains("the graphs are gone")
                .contains("its NCCL communicator was not freed")
                .contains("a CUDA graph that captured its operations");
    }

    /** Splits, which takes longer than the group's deadline. */
    static final class SlowSplit {

        private SlowSplit() {}

        public static void main(String[] arguments) {
            World.run(2, expires(Duration.ofSeconds(6)), NcclOptions.defaults(), SlowSplit::run);
            System.out.println("the ranks are through");
        }

        private static void run(ProcessGroup group, Device device) throws InterruptedException {
            if (group.rank() == 1) {
                Thread.sleep(3000); // Rank 0 is inside NCCL two seconds after its deadline.
            }
            try {
                group.split(0, 0).orElseThrow().close();
            } catch (JcclException e) {
                System.out.println("rank " + group.rank() + ": " + e.getMessage());
            }
        }
    }

    @Tag("mocked-nccl")
    @Test
    void communicatorIsNotFreedUnderAThreadThatStaysInside() throws Exception {
        assertThat(ChildJvm.outputOf(SlowSplit.class, Map.of("MOCK_INIT_MS", "5000")))
                .contains("rank 0: ")
                .contains("ncclCommSplit did not finish")
                .contains("the ranks are through");
    }

    /** Reduces with a rank that does not come, and has captured a graph before, if it is said. */
    static final class LostPeer {

        private LostPeer() {}

        public static void main(String[] arguments) {
            CountDownLatch failed = new CountDownLatch(1);
            World.run(
                    2,
                    Ranks.onThisHost(2),
                    NcclOptions.defaults(),
                    (group, device) -> {
                        try (Stream stream = Stream.create(device, false);
                                Tensor tensor = Tensor.allocate(device, DataType.FLOAT32, 1)) {
                            run(group, tensor, stream, failed);
                        }
                    });
            System.out.println("the ranks are through");
        }

        private static void run(
                ProcessGroup group, Tensor tensor, Stream stream, CountDownLatch failed)
                throws InterruptedException {
            CUgraphExec_st graph = null;
            if (Boolean.getBoolean("captured")) {
                graph = capture(group, tensor, stream);
            }
            if (group.rank() == 1) {
                failed.await();
            } else {
                try {
                    // More than the queue of a stream: the thread is inside NCCL when it fails.
                    for (int i = 0; i < 5000; i++) {
                        group.sync().allReduce(tensor, ReduceOp.SUM);
                    }
                } catch (JcclException e) {
                    System.out.println("rank 0: " + e.getMessage());
                } finally {
                    failed.countDown();
                }
            }
            group.close();
            if (graph != null) {
                GraphTest.check(cudart.cudaGraphExecDestroy(graph));
            }
        }
    }

    /** Reduces for the first time, with a rank that does not come. */
    static final class FirstContact {

        private FirstContact() {}

        public static void main(String[] arguments) {
            NcclOptions options =
                    NcclOptions.builder().blocking(Boolean.getBoolean("blocking")).build();
            CountDownLatch failed = new CountDownLatch(1);
            World.run(
                    2,
                    Ranks.onThisHost(2),
                    options,
                    (group, device) -> {
                        if (group.rank() == 1) {
                            failed.await();
                            return;
                        }
                        try (Tensor tensor = Tensor.allocate(device, DataType.FLOAT32, 1)) {
                            group.allReduce(tensor, ReduceOp.SUM).synchronize();
                        } catch (JcclException e) {
                            System.out.println("rank 0: " + e.getMessage());
                        } finally {
                            failed.countDown();
                        }
                    });
            System.out.println("the ranks are through");
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void threadThatWaitsForThePeersOfItsFirstCallIsLetOut(boolean blocking) throws Exception {
        Map<String, String> environment = Map.of("MOCK_NCCL_CONNECT", "-1");
        assertThat(ChildJvm.outputOf(FirstContact.class, environment, "-Dblocking=" + blocking))
                .contains("rank 0: group 'world', rank 0, operation 0 allReduce(float32 x 1, SUM)")
                .containsPattern("(not complete after|was not enqueued in) [0-9]+ s")
                .contains("the ranks are through")
                .doesNotContain("not freed");
    }

    @Tag("mocked-nccl")
    @Test
    void revokeThatHangsIsLeftBehind() throws Exception {
        assertThat(ChildJvm.outputOf(LostPeer.class, Map.of("MOCK_NCCL_REVOKE_HANG", "1")))
                .contains("rank 0: ")
                .contains("its NCCL communicator was not freed")
                .contains("the ranks are through");
    }

    @Test
    void communicatorIsNotFreedUnderAGraphAfterARevoke() throws Exception {
        assertThat(ChildJvm.outputOf(LostPeer.class, Map.of(), "-Dcaptured=true"))
                .contains("rank 0: ")
                .contains("was not freed: CUDA graphs may still use it")
                .contains("the ranks are through");
    }
}
