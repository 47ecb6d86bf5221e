package org.jccl.hccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.jccl.testing.DeviceTensors.floats;
import static org.jccl.testing.DeviceTensors.read;
import static org.jccl.testing.Patience.expires;

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
                    }
                });
    }

    @Test
    void whatHcclLacksIsRefused() throws Exception {
        World.run(
                2,
                (group, device) -> {
                    try (Tensor bytes = Tensor.allocate(device, DataType.UINT8, 2);
                            Tensor tensor = floats(device, 1)) {
                        assertThatThrownBy(() -> group.allReduce(bytes, ReduceOp.SUM))
                                .isInstanceOf(UsageException.class);
                        assertThatThrownBy(() -> group.allReduce(tensor, ReduceOp.premulSum(0.5)))
                                .isInstanceOf(UsageException.class);
                        group.allReduce(tensor, ReduceOp.SUM).await();
                        assertThat(read(tensor)).containsExactly(2);
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
                                .hasMessageContaining("receive from any peer");
                        group.allReduce(tensor, ReduceOp.SUM).await();
                        assertThat(read(tensor)).containsExactly(2);
                    }
                });
    }

    /** What reductions would change: a quiet bit, a sign of zero, the smallest numbers. */
    @Test
    void broadcastAndGatherKeepEveryBit() throws Exception {
        // Several slices where they go through scratch memory.
        int count = 5 << 20;
        int[] special = {0x7fa00001, 0xffc12345, 0x80000000, 1, 0x807fffff, 0xff800000, -1};
        World.run(
                3,
                (group, device) -> {
                    int[] bits = new int[count];
                    for (int i = 0; i < count; i++) {
                        bits[i] = special[i % special.length] ^ (group.rank() == 1 ? i << 8 : ~i);
                    }
                    int[] expected = new int[count];
                    for (int i = 0; i < count; i++) {
                        expected[i] = special[i % special.length] ^ i << 8;
                    }
                    try (Tensor tensor = Tensor.allocate(device, DataType.FLOAT32, count);
                            Tensor parts = Tensor.allocate(device, DataType.FLOAT32, count + 3)) {
                        Tensor asInts =
                                Tensor.of(tensor.address(), count, DataType.INT32, device, tensor);
                        asInts.copyFrom(bits);
                        group.broadcast(tensor, 1).await();
                        assertThat(asInts.copyTo(new int[count])).isEqualTo(expected);

                        List<Tensor> outputs =
                                List.of(
                                        parts.slice(0, 1),
                                        parts.slice(1, count),
                                        parts.slice(count + 1L, 2));
                        long own = outputs.get(group.rank()).count();
                        Tensor mine = group.rank() == 1 ? tensor : tensor.slice(5, own);
                        Tensor whole =
                                Tensor.of(
                                        parts.address(), count + 3, DataType.INT32, device, parts);
                        group.allGather(outputs, mine).await();
                        int[] gathered = whole.copyTo(new int[count + 3]);
                        assertThat(gathered[0]).isEqualTo(expected[5]);
                        assertThat(Arrays.copyOfRange(gathered, 1, count + 1)).isEqualTo(expected);
                        assertThat(gathered[count + 2]).isEqualTo(expected[6]);
                    }
                });
    }

    @Test
    void fiveRanksGatherAndBroadcastOnEveryDevice() throws Exception {
        World.run(
                5,
                (group, device) -> {
                    try (Tensor one = floats(device, group.rank());
                            Tensor all = floats(device, 0, 0, 0, 0, 0)) {
                        group.allGatherSingle(all, one).await();
                        assertThat(read(all)).containsExactly(0, 1, 2, 3, 4);
                        group.broadcast(one, 3).await();
                        assertThat(read(one)).containsExactly(3);
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
                HcclOptions.builder().bufferMegabytes(20).determinism(Determinism.ON).build();
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
            Duration busy = expires(Duration.ofMillis(20));
            // Twice, since old CANN has events for one use only.
            for (int i = 0; i < 2; i++) {
                long begun = System.nanoTime();
                start.record(stream);
                Npu.busy(busy, stream);
                end.record(stream);
                // Only too early is wrong: this thread may have been without a processor for longer
                // than the kernel ran.
                boolean early = end.query() && System.nanoTime() - begun < busy.toNanos();
                assertThat(early).isFalse();
                end.synchronize();
                assertThat(end.query()).isTrue();
                assertThat(start.elapsed(end)).isGreaterThanOrEqualTo(busy);
            }
        }
    }

    @Test
    void deviceThatDoesNotExistIsRefused() {
        assertThatThrownBy(() -> Tensor.allocate(World.npu(99), DataType.FLOAT32, 1))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("npu:99");
    }
}
