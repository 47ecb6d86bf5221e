package org.jccl.nccl;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.bytedeco.cuda.cudart.CUgraphExec_st;
import org.bytedeco.cuda.cudart.CUgraph_st;
import org.bytedeco.cuda.global.cudart;
import org.jccl.DataType;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Stream;
import org.jccl.Tensor;
import org.jccl.Work;
import org.jccl.internal.memory.Reaper;
import org.jccl.nccl.Gpu.Gate;
import org.junit.jupiter.api.Test;

/** Collectives inside CUDA graphs. */
final class GraphTest {

    private static final int REPLAYS = 3;

    @Test
    void capturedCollectivesRunAtEachReplay() throws Exception {
        World.run(
                2,
                (group, device) -> {
                    try (Stream stream = Stream.create(device, false);
                            Tensor tensor = Tensor.allocate(device, DataType.FLOAT32, 2);
                            Stream.Scope scope = stream.use()) {
                        assertThat(scope).isNotNull();
                        tensor.copyFrom(new float[] {1, 2});
                        // The other rank's thread goes on, which a global capture would forbid.
                        begin(stream, cudart.cudaStreamCaptureModeThreadLocal);
                        Work work = group.allReduce(tensor, ReduceOp.SUM);
                        assertThat(work.isCompleted()).as("the graph runs it").isTrue();
                        work.await();
                        group.sync().allReduce(tensor, ReduceOp.SUM);
                        CUgraphExec_st graph = end(stream);
                        assertThat(tensor.copyTo(new float[2])).containsExactly(1, 2);
                        replay(graph, stream);
                        assertThat(tensor.copyTo(new float[2])).containsExactly(64, 128);
                        check(cudart.cudaGraphExecDestroy(graph));
                        group.allReduce(tensor, ReduceOp.MAX).await();
                        assertThat(tensor.copyTo(new float[2])).containsExactly(64, 128);
                    }
                });
    }

    @Test
    void capturedBarriersDoNotBlockTheHost() throws Exception {
        World.run(
                2,
                (group, device) -> {
                    try (Stream stream = Stream.create(device, false);
                            Tensor tensor = Tensor.allocate(device, DataType.FLOAT32, 2);
                            Stream.Scope scope = stream.use()) {
                        assertThat(scope).isNotNull();
                        tensor.copyFrom(new float[] {1, 2});
                        begin(stream, cudart.cudaStreamCaptureModeThreadLocal);
                        group.barrier().await();
                        group.sync().barrier();
                        group.sync().allReduce(tensor, ReduceOp.SUM);
                        CUgraphExec_st graph = end(stream);
                        replay(graph, stream);
                        assertThat(tensor.copyTo(new float[2])).containsExactly(8, 16);
                        check(cudart.cudaGraphExecDestroy(graph));
                        group.sync().barrier();
                    }
                });
    }

    @Test
    void stagedListsOfAGraphStayWhenLargerOnesFollow() throws Exception {
        World.run(
                2,
                (group, device) -> {
                    try (Stream stream = Stream.create(device, false);
                            Tensor mine = Tensor.allocate(device, DataType.FLOAT32, 1000);
                            Tensor all = Tensor.allocate(device, DataType.FLOAT32, 3000);
                            Stream.Scope scope = stream.use()) {
                        assertThat(scope).isNotNull();
                        Tensor one = mine.slice(0, 1).copyFrom(new float[] {group.rank() + 1});
                        List<Tensor> apart = List.of(all.slice(0, 1), all.slice(2, 1));
                        // Memory cannot be allocated during a capture.
                        group.allGather(apart, one).await();
                        begin(stream, cudart.cudaStreamCaptureModeThreadLocal);
                        group.allGather(apart, one).await();
                        CUgraphExec_st graph = end(stream);
                        group.allGather(List.of(all.slice(0, 1000), all.slice(2000, 1000)), mine)
                                .await();
                        stream.synchronize();
                        assertThat(Reaper.of(device).await(World.TIMEOUT)).isTrue();
                        // The mock ends the process when freed memory is used.
                        replay(graph, stream);
                        stream.synchronize();
                        assertThat(all.slice(2, 1).copyTo(new float[1])).containsExactly(2);
                        check(cudart.cudaGraphExecDestroy(graph));
                    }
                });
    }

    @Test
    void watchdogPollsOtherWorksDuringGlobalCapture() throws Exception {
        try (ProcessGroup group = World.alone();
                Stream other = Stream.create(World.GPU, false);
                Stream stream = Stream.create(World.GPU, false);
                Tensor input = Tensor.allocate(World.GPU, DataType.FLOAT32, 2);
                Tensor output = Tensor.allocate(World.GPU, DataType.FLOAT32, 2);
                Tensor watched = Tensor.allocate(World.GPU, DataType.FLOAT32, 2);
                ProcessGroup second = World.alone();
                Gate gate = Gate.on(other)) {
            input.copyFrom(new float[] {1, 2});
            Work pending;
            try (Stream.Scope scope = other.use()) {
                assertThat(scope).isNotNull();
                pending = second.allReduce(watched, ReduceOp.SUM);
            }
            CUgraphExec_st graph;
            try (Stream.Scope scope = stream.use()) {
                assertThat(scope).isNotNull();
                begin(stream, cudart.cudaStreamCaptureModeGlobal);
                group.allGatherSingle(output, input).await();
                Gpu.axpy(input, output, 1, stream);
                gate.open();
                // Only the watchdog can complete it now: this thread must not ask.
                pending.toFuture().get();
                graph = end(stream);
                replay(graph, stream);
                assertThat(input.copyTo(new float[2])).containsExactly(8, 16);
            }
            check(cudart.cudaGraphExecDestroy(graph));
        }
    }

    @Test
    void watchdogLeavesAStreamThatCapturesAlone() throws Exception {
        try (ProcessGroup group = World.alone();
                Stream other = Stream.create(World.GPU, false);
                Stream stream = Stream.create(World.GPU, false);
                Tensor tensor = Tensor.allocate(World.GPU, DataType.FLOAT32, 1);
                Stream.Scope scope = stream.use()) {
            assertThat(scope).isNotNull();
            tensor.copyFrom(new float[] {1});
            group.sync().allReduce(tensor, ReduceOp.SUM);
            begin(stream, cudart.cudaStreamCaptureModeGlobal);
            group.sync().allReduce(tensor, ReduceOp.SUM);
            Gpu.axpy(tensor, tensor, 1, stream);
            Thread.sleep(250); // Two ticks of the watchdog, which has calls to follow.
            assertThat(stream.isCapturing()).isTrue();
            assertThat(other.isCapturing()).isFalse();
            CUgraphExec_st graph = end(stream);
            replay(graph, stream);
            assertThat(tensor.copyTo(new float[1])).containsExactly(1 << REPLAYS);
            check(cudart.cudaGraphExecDestroy(graph));
        }
    }

    static void begin(Stream stream, int mode) {
        check(cudart.cudaStreamBeginCapture(Gpu.handle(stream), mode));
    }

    static CUgraphExec_st end(Stream stream) {
        CUgraph_st graph = new CUgraph_st();
        check(cudart.cudaStreamEndCapture(Gpu.handle(stream), graph));
        CUgraphExec_st executable = new CUgraphExec_st();
        check(cudart.cudaGraphInstantiate(executable, graph));
        check(cudart.cudaGraphDestroy(graph));
        return executable;
    }

    private static void replay(CUgraphExec_st graph, Stream stream) {
        for (int i = 0; i < REPLAYS; i++) {
            check(cudart.cudaGraphLaunch(graph, Gpu.handle(stream)));
        }
    }

    static void check(int code) {
        CudaErrors.check(code, "graph call");
    }
}
