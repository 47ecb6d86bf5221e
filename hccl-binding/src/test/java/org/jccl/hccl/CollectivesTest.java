package org.jccl.hccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.jccl.conformance.DeviceTensors.floats;
import static org.jccl.conformance.DeviceTensors.read;

import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import org.jccl.DataType;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Stream;
import org.jccl.Tensor;
import org.jccl.UsageException;
import org.jccl.Work;
import org.jccl.hccl.HcclOptions.Determinism;
import org.jccl.store.HashStore;
import org.junit.jupiter.api.Test;

/** What is particular to HCCL; the rest is in the conformance suite. */
final class CollectivesTest {

    @Test
    void averageIsAScaledSum() throws Exception {
        World.run(
                3,
                (group, device) -> {
                    try (Tensor tensor = floats(device, group.rank(), 3)) {
                        group.allReduce(tensor, ReduceOp.AVG).await();
                        assertThat(read(tensor)).containsExactly(1, 3);
                        group.allReduce(tensor, ReduceOp.premulSum(0.5)).await();
                        assertThat(read(tensor)).containsExactly(1.5f, 4.5f);
                    }
                });
    }

    @Test
    void sumOfBytesWrapsAsInPyTorch() throws Exception {
        World.run(
                2,
                (group, device) -> {
                    try (Tensor tensor = Tensor.allocate(device, DataType.UINT8, 2)) {
                        tensor.copyFrom(new byte[] {(byte) 200, 7});
                        group.allReduce(tensor, ReduceOp.SUM).await();
                        assertThat(tensor.copyTo(new byte[2])).containsExactly((byte) 144, 14);
                    }
                });
    }

    @Test
    void synchronousCallsWorkOnTheDefaultStreamAndOnOthers() throws Exception {
        World.run(
                2,
                (group, device) -> {
                    try (Tensor tensor = floats(device, 1);
                            Stream other = Stream.create(device, false)) {
                        assertThat(Stream.current(device).handle()).isZero();
                        group.sync().allReduce(tensor, ReduceOp.SUM);
                        assertThat(read(tensor)).containsExactly(2);
                        try (Stream.Scope scope = other.use()) {
                            assertThat(scope).isNotNull();
                            group.sync().allReduce(tensor, ReduceOp.SUM);
                            other.synchronize();
                        }
                        assertThat(read(tensor)).containsExactly(4);
                        group.sync().allReduce(tensor, ReduceOp.AVG);
                        assertThat(read(tensor)).containsExactly(4);
                    }
                });
    }

    @Test
    void refusedMessageLeavesTheGroupUsable() throws Exception {
        World.run(
                2,
                (group, device) -> {
                    try (Tensor tensor = floats(device, 1)) {
                        assertThatThrownBy(() -> group.send(tensor, 1 - group.rank(), 7))
                                .isInstanceOf(UsageException.class)
                                .hasMessageContaining("tag");
                        assertThatThrownBy(() -> group.recvAnySource(tensor))
                                .isInstanceOf(UsageException.class)
                                .hasMessageContaining("named");
                        group.allReduce(tensor, ReduceOp.SUM).await();
                        assertThat(read(tensor)).containsExactly(2);
                    }
                });
    }

    @Test
    void messagesGoFromOneToTheOther() throws Exception {
        World.run(
                2,
                (group, device) -> {
                    try (Tensor tensor = floats(device, group.rank() + 1)) {
                        Work work =
                                group.rank() == 0
                                        ? group.send(tensor, 1, 0)
                                        : group.recv(tensor, 0, 0);
                        work.synchronize();
                        assertThat(read(tensor)).containsExactly(1);
                    }
                });
    }

    @Test
    void worksThatNobodyAwaitsComplete() throws Exception {
        World.run(
                2,
                (group, device) -> {
                    try (Tensor tensor = floats(device, group.rank() + 1)) {
                        Work reduced = group.allReduce(tensor, ReduceOp.SUM);
                        Work message =
                                group.rank() == 0
                                        ? group.send(tensor, 1, 0)
                                        : group.recv(tensor, 0, 0);
                        reduced.toFuture().get();
                        message.toFuture().get();
                        assertThat(reduced.duration()).isPresent();
                        assertThat(read(tensor)).containsExactly(3);
                    }
                });
    }

    @Test
    void batchExchangesInARing() throws Exception {
        World.run(
                4,
                (group, device) -> {
                    int next = (group.rank() + 1) % 4;
                    int previous = (group.rank() + 3) % 4;
                    try (Tensor forth = floats(device, group.rank());
                            Tensor back = floats(device, 10 + group.rank());
                            Tensor fromPrevious = floats(device, -1);
                            Tensor fromNext = floats(device, -1)) {
                        for (int i = 0; i < 3; i++) {
                            // Everybody sends first: one after the other, all would wait.
                            List<Work> works =
                                    group.batch()
                                            .send(forth, next, 0)
                                            .send(back, previous, 0)
                                            .recv(fromPrevious, previous, 0)
                                            .recv(fromNext, next, 0)
                                            .issue();
                            works.forEach(Work::await);
                        }
                        assertThat(read(fromPrevious)).containsExactly(previous);
                        assertThat(read(fromNext)).containsExactly(10 + next);
                    }
                });
    }

    @Test
    void partsOfDifferentSizesMayBeEmpty() throws Exception {
        World.run(
                3,
                (group, device) -> {
                    // Rank 1 gives and gets nothing, and must take part all the same.
                    long[] input = new long[3];
                    long[] output = new long[3];
                    if (group.rank() == 0) {
                        input[2] = 2;
                    } else if (group.rank() == 2) {
                        output[0] = 2;
                    }
                    try (Tensor from = floats(device, new float[(int) sum(input) + 1]);
                            Tensor to = floats(device, 7, 7, 7)) {
                        from.copyFrom(filled((int) from.count(), 5));
                        group.allToAllSingle(
                                        to.slice(0, sum(output)),
                                        from.slice(0, sum(input)),
                                        output,
                                        input)
                                .await();
                        float expected = group.rank() == 2 ? 5 : 7;
                        assertThat(read(to)).containsExactly(expected, expected, 7);
                    }
                });
    }

    private static long sum(long[] counts) {
        return Arrays.stream(counts).sum();
    }

    private static float[] filled(int count, float value) {
        float[] values = new float[count];
        Arrays.fill(values, value);
        return values;
    }

    @Test
    void gatherInPlaceOfTheOutputIsRight() throws Exception {
        World.run(
                3,
                (group, device) -> {
                    try (Tensor all = floats(device, -1, -1, -1)) {
                        Tensor mine = all.slice(group.rank(), 1);
                        mine.copyFrom(new float[] {group.rank()});
                        group.allGatherSingle(all, mine).await();
                        assertThat(read(all)).containsExactly(0, 1, 2);
                    }
                });
    }

    @Test
    void barrierWaitsForAll() throws Exception {
        World.run(
                4,
                (group, device) -> {
                    group.barrier().synchronize();
                    group.sync().barrier();
                });
    }

    @Test
    void subGroupsOfSubGroupsWork() throws Exception {
        World.run(
                4,
                (group, device) -> {
                    try (ProcessGroup odd = group.split(group.rank() % 2, 0).orElseThrow();
                            ProcessGroup one = odd.split(odd.rank(), 0).orElseThrow();
                            ProcessGroup again = group.split(0, -group.rank()).orElseThrow();
                            Tensor tensor = floats(device, group.rank())) {
                        one.allReduce(tensor, ReduceOp.SUM).await();
                        odd.allReduce(tensor, ReduceOp.SUM).await();
                        assertThat(read(tensor)).containsExactly(group.rank() % 2 == 0 ? 2 : 4);
                        again.broadcast(tensor, 0).await();
                        assertThat(read(tensor)).containsExactly(4);
                    }
                });
    }

    @Test
    void optionsAreGivenToHccl() throws Exception {
        HcclOptions options =
                HcclOptions.defaults().withBufferMegabytes(20).withDeterminism(Determinism.ON);
        if (!CannLibraries.get().has("HcclCommInitRootInfoConfig")) {
            assertThatThrownBy(
                            () ->
                                    World.join(
                                            HashStore.create(World.TIMEOUT),
                                            0,
                                            1,
                                            World.TIMEOUT,
                                            options))
                    .isInstanceOf(UsageException.class)
                    .hasMessageContaining("too old");
            return;
        }
        World.run(
                2,
                World.TIMEOUT,
                options,
                (group, device) -> {
                    try (Tensor tensor = floats(device, 1)) {
                        group.allReduce(tensor, ReduceOp.SUM).await();
                        assertThat(read(tensor)).containsExactly(2);
                    }
                });
    }

    @Test
    void eventsMeasureTime() throws Exception {
        try (Stream stream = Stream.create(World.NPU, false);
                org.jccl.Event start = org.jccl.Event.create(World.NPU, true);
                org.jccl.Event end = org.jccl.Event.create(World.NPU, true)) {
            // Twice, since old CANN has events for one use only.
            for (int i = 0; i < 2; i++) {
                start.record(stream);
                Npu.busy(Duration.ofMillis(5), stream);
                end.record(stream);
                assertThat(end.query()).isFalse();
                end.synchronize();
                assertThat(end.query()).isTrue();
                assertThat(start.elapsed(end)).isGreaterThanOrEqualTo(Duration.ofMillis(5));
            }
        }
    }

    @Test
    void deviceThatDoesNotExistIsRefused() {
        assertThatThrownBy(() -> Tensor.allocate(World.npu(99), DataType.FLOAT32, 1))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("npu:99");
    }

    @Test
    void connectingHasADeadline() {
        assertThatThrownBy(() -> joinAlone(1, 2))
                .hasMessageContaining("rank 0 put no HCCL root info");
        assertThatThrownBy(() -> joinAlone(0, 2))
                .hasMessageContaining("HcclCommInitRootInfo did not finish");
    }

    private static ProcessGroup joinAlone(int rank, int size) {
        return World.join(
                HashStore.create(World.TIMEOUT),
                rank,
                size,
                Duration.ofMillis(300),
                HcclOptions.defaults());
    }
}
