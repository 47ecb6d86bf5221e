package org.jccl.nccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.jccl.testing.Patience.expires;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.cuda.cudart.CUgraphExec_st;
import org.bytedeco.cuda.cudart.CUgraph_st;
import org.bytedeco.cuda.global.cudart;
import org.jccl.DataType;
import org.jccl.GroupInfo;
import org.jccl.GroupListener;
import org.jccl.JcclException;
import org.jccl.OperationInfo;
import org.jccl.OperationTime;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Stream;
import org.jccl.Tensor;
import org.jccl.nccl.Gpu.Gate;
import org.jccl.store.HashStore;
import org.junit.jupiter.api.Test;

/** What listeners are told of a device's operations, whose ends nobody sees at once. */
final class ObservedTest {

    private static final class Notes implements GroupListener {

        private final List<String> told = new ArrayList<>();
        private final List<OperationTime> times = new ArrayList<>();
        private GroupInfo group;

        private synchronized void note(String text) {
            told.add(text);
            notifyAll();
        }

        private synchronized List<String> await(int ends) throws InterruptedException {
            while (told.stream().filter(each -> !each.startsWith("started")).count() < ends) {
                wait();
            }
            return List.copyOf(told);
        }

        @Override
        public void groupMade(GroupInfo made, Duration took) {
            group = made;
        }

        @Override
        public void operationStarted(OperationInfo operation) {
            note("started " + operation.sequence());
        }

        @Override
        public void operationCompleted(OperationInfo operation, OperationTime time) {
            times.add(time);
            note("completed " + operation.sequence());
        }

        @Override
        public void operationFailed(
                OperationInfo operation, OperationTime time, JcclException cause) {
            note("failed " + operation.sequence() + " " + cause.getClass().getSimpleName());
        }
    }

    private final Notes notes = new Notes();

    private ProcessGroup world() {
        return ProcessGroup.builder()
                .backend("nccl")
                .store(HashStore.create(World.TIMEOUT))
                .rank(0)
                .worldSize(1)
                .device(World.GPU)
                .timeout(World.TIMEOUT)
                .listener(notes)
                .build();
    }

    private static Tensor tensor() {
        return Tensor.allocate(World.GPU, DataType.FLOAT32, 4);
    }

    @Test
    void timeOnTheDeviceLeavesOutWhatRanBefore() throws Exception {
        Duration held = expires(Duration.ofMillis(200));
        try (ProcessGroup group = world();
                Stream stream = Stream.create(World.GPU, false);
                Tensor tensor = tensor();
                Stream.Scope scope = stream.use()) {
            assertThat(scope).isNotNull();
            try (Gate gate = Gate.on(stream)) {
                group.allReduce(tensor, ReduceOp.SUM).await();
                Thread.sleep(held.toMillis());
                gate.open();
            }
            assertThat(notes.await(1)).containsExactly("started 0", "completed 0");
        }
        assertThat(notes.group.device()).isEqualTo(World.GPU);
        OperationTime time = notes.times.get(0);
        assertThat(time.elapsed().minus(time.onDevice().orElseThrow()))
                .isGreaterThanOrEqualTo(held.minusMillis(10));
        assertThat(time.best()).isEqualTo(time.onDevice().orElseThrow());
    }

    @Test
    void eachOfManyOperationsEndsOnce() throws Exception {
        int calls = 300;
        try (ProcessGroup group = world();
                Tensor tensor = tensor()) {
            for (int i = 0; i < calls; i++) {
                group.allReduce(tensor, ReduceOp.SUM).await();
            }
            List<String> told = notes.await(calls);
            assertThat(told).hasSize(2 * calls).doesNotHaveDuplicates();
            assertThat(notes.times).allMatch(time -> time.onDevice().isPresent());
        }
        assertThat(notes.told).hasSize(2 * calls);
    }

    @Test
    void synchronousCallsEndWhenTheirStreamHasPassedThem() throws Exception {
        int calls = 50;
        try (ProcessGroup group = world();
                Stream stream = Stream.create(World.GPU, false);
                Tensor tensor = tensor();
                Stream.Scope scope = stream.use()) {
            assertThat(scope).isNotNull();
            try (Gate gate = Gate.on(stream)) {
                for (int i = 0; i < calls; i++) {
                    group.sync().allReduce(tensor, ReduceOp.SUM);
                }
                Thread.sleep(250); // two looks of the watchdog's
                assertThat(notes.await(0)).hasSize(calls);
                gate.open();
            }
            assertThat(notes.await(calls)).hasSize(2 * calls).doesNotHaveDuplicates();
            assertThat(notes.times).allMatch(time -> time.onDevice().isEmpty());
        }
        assertThat(notes.told).hasSize(2 * calls);
    }

    @Test
    void whatIsAbortedFailsOnce() throws Exception {
        try (ProcessGroup group = world();
                Stream stream = Stream.create(World.GPU, false);
                Tensor tensor = tensor();
                Stream.Scope scope = stream.use()) {
            assertThat(scope).isNotNull();
            try (Gate gate = Gate.on(stream)) {
                group.sync().allReduce(tensor, ReduceOp.SUM);
                group.allReduce(tensor, ReduceOp.SUM);
                group.abort();
                notes.await(1);
                gate.open();
            }
            assertThat(notes.await(2))
                    .containsExactlyInAnyOrder(
                            "started 0",
                            "started 1",
                            "failed 0 GroupAbortedException",
                            "failed 1 GroupAbortedException");
        }
        assertThat(notes.told).hasSize(4);
    }

    @Test
    void whatAGraphCapturesIsOverWhenItIsCaptured() throws Exception {
        try (ProcessGroup group = world();
                Stream stream = Stream.create(World.GPU, false);
                Tensor tensor = tensor();
                Stream.Scope scope = stream.use()) {
            assertThat(scope).isNotNull();
            check(
                    cudart.cudaStreamBeginCapture(
                            Gpu.handle(stream), cudart.cudaStreamCaptureModeThreadLocal));
            group.allReduce(tensor, ReduceOp.SUM).await();
            CUgraph_st graph = new CUgraph_st();
            check(cudart.cudaStreamEndCapture(Gpu.handle(stream), graph));
            CUgraphExec_st exec = new CUgraphExec_st();
            check(cudart.cudaGraphInstantiate(exec, graph));
            assertThat(notes.await(1)).containsExactly("started 0", "completed 0");
            check(cudart.cudaGraphExecDestroy(exec));
            check(cudart.cudaGraphDestroy(graph));
            assertThat(notes.times.get(0).onDevice()).isEmpty();
        }
    }

    private static void check(int result) {
        assertThat(result).isZero();
    }
}
