package org.jccl.nccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.jccl.testing.Patience.enough;
import static org.jccl.testing.Patience.expires;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntUnaryOperator;
import org.bytedeco.cuda.cudart.CUgraph_st;
import org.bytedeco.cuda.global.cudart;
import org.jccl.Batch;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.GroupAbortedException;
import org.jccl.Interop;
import org.jccl.JcclException;
import org.jccl.MismatchException;
import org.jccl.OperationTimeoutException;
import org.jccl.PeerLostException;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Store;
import org.jccl.Stream;
import org.jccl.Tensor;
import org.jccl.UsageException;
import org.jccl.Work;
import org.jccl.conformance.Ranks;
import org.jccl.conformance.StagedBackend;
import org.jccl.gloo.GlooOptions;
import org.jccl.nccl.Gpu.Gate;
import org.jccl.store.HashStore;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Gloo with tensors of CUDA's mock: what is copied, in which order, and what a failure leaves. */
@Tag("all")
final class StagedTest {

    /** Elements of 4 MB, which the library sends in several pieces. */
    private static final int LARGE = 1 << 20;

    private static final GlooOptions OPTIONS = GlooOptions.onHost("127.0.0.1");
    private static final StagedBackend BACKEND =
            new StagedBackend("gloo", NcclProvider.DEVICE_TYPE, OPTIONS, rank -> rank);

    private static Tensor ints(Device device, int count, IntUnaryOperator element) {
        int[] values = new int[count];
        Arrays.setAll(values, element);
        return Tensor.allocate(device, DataType.INT32, count).copyFrom(values);
    }

    private static Tensor floats(Device device, int count) {
        return Tensor.allocate(device, DataType.FLOAT32, count);
    }

    private static void expect(Tensor tensor, String what, IntUnaryOperator element) {
        int[] values = tensor.copyTo(new int[Math.toIntExact(tensor.count())]);
        for (int i = 0; i < values.length; i++) {
            if (values[i] != element.applyAsInt(i)) {
                throw new AssertionError(
                        what
                                + ": element "
                                + i
                                + " of "
                                + values.length
                                + " is "
                                + values[i]
                                + ", not "
                                + element.applyAsInt(i));
            }
        }
    }

    /** Elements that differ between ranks, parts and places. */
    private static int value(int rank, int i) {
        return 1000 * rank + i % 997;
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, LARGE - 1, LARGE, LARGE + 1, 3 * LARGE + 5})
    void everythingWithoutPartsIsRightAtAnySize(int count) {
        BACKEND.run(
                3,
                World.TIMEOUT,
                (group, device) -> {
                    int rank = group.rank();
                    try (Tensor tensor = ints(device, count, i -> value(rank, i))) {
                        group.allReduce(tensor, ReduceOp.SUM).await();
                        expect(tensor, "allReduce", i -> 3000 + 3 * (i % 997));
                    }
                    try (Tensor tensor = ints(device, count, i -> value(rank, i))) {
                        group.broadcast(tensor, 1).await();
                        expect(tensor, "broadcast", i -> value(1, i));
                    }
                    try (Tensor tensor = ints(device, count, i -> value(rank, i))) {
                        group.reduce(tensor, 2, ReduceOp.MAX).await();
                        expect(tensor, "reduce", i -> value(rank, i));
                    }
                    try (Tensor tensor = ints(device, count, i -> value(rank, i))) {
                        Tensor got = ints(device, count, i -> -1);
                        Work sent = group.send(tensor, (rank + 1) % 3, 5);
                        group.recv(got, (rank + 2) % 3, 5).await();
                        sent.await();
                        expect(got, "recv", i -> value((rank + 2) % 3, i));
                        got.close();
                    }
                });
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, LARGE / 2 - 1, LARGE / 2, LARGE / 2 + 1, LARGE + LARGE / 4})
    void everythingWithPartsIsRightAtAnySize(int count) {
        BACKEND.run(
                2,
                World.TIMEOUT,
                (group, device) -> {
                    int rank = group.rank();
                    try (Tensor part = ints(device, count, i -> value(rank, i));
                            Tensor both = ints(device, 2 * count, i -> -1);
                            Tensor apart = ints(device, 2 * count + 2, i -> -1)) {
                        group.allGatherSingle(both, part).await();
                        expect(both.slice(0, count), "allGather", i -> value(0, i));
                        expect(both.slice(count, count), "allGather", i -> value(1, i));

                        List<Tensor> parts =
                                List.of(apart.slice(count + 2, count), apart.slice(1, count));
                        group.allGather(parts, part).await();
                        expect(parts.get(0), "allGather apart", i -> value(0, i));
                        expect(parts.get(1), "allGather apart", i -> value(1, i));
                        expect(apart.slice(0, 1), "before", i -> -1);
                        expect(apart.slice(count + 1, 1), "between", i -> -1);

                        group.reduceScatterSingle(part, both, ReduceOp.SUM).await();
                        expect(part, "reduceScatter", i -> 2 * value(rank, i));
                        group.reduceScatter(part, parts, ReduceOp.SUM).await();
                        expect(part, "reduceScatter apart", i -> 2 * value(rank, i));

                        group.gather(rank == 1 ? parts : List.of(), part, 1).await();
                        if (rank == 1) {
                            expect(parts.get(0), "gather", i -> 2 * value(0, i));
                            expect(parts.get(1), "gather", i -> 2 * value(1, i));
                        }
                        group.scatter(part, rank == 1 ? parts : List.of(), 1).await();
                        expect(part, "scatter", i -> 2 * value(rank, i));

                        both.slice(0, count).copyFrom(numbers(count, i -> value(rank, i)));
                        both.slice(count, count).copyFrom(numbers(count, i -> value(10 + rank, i)));
                        try (Tensor got = ints(device, 2 * count, i -> -1)) {
                            group.allToAllSingle(got, both).await();
                            expect(got.slice(0, count), "allToAll", i -> value(10 * rank, i));
                            expect(
                                    got.slice(count, count),
                                    "allToAll",
                                    i -> value(10 * rank + 1, i));
                        }
                    }
                });
    }

    private static int[] numbers(int count, IntUnaryOperator element) {
        int[] values = new int[count];
        Arrays.setAll(values, element);
        return values;
    }

    /** One part is large, one is empty, and one is small. */
    @Test
    void partsOfDifferentSizesAreRight() {
        int[] counts = {LARGE + 7, 0, 3};
        BACKEND.run(
                3,
                World.TIMEOUT,
                (group, device) -> {
                    int rank = group.rank();
                    List<Tensor> parts = new ArrayList<>();
                    for (int count : counts) {
                        parts.add(ints(device, count, i -> -1));
                    }
                    try (Tensor mine = ints(device, counts[rank], i -> value(rank, i))) {
                        group.allGather(parts, mine).await();
                        for (int from = 0; from < 3; from++) {
                            int sender = from;
                            expect(parts.get(from), "allGather", i -> value(sender, i));
                        }
                        group.reduceScatter(mine, parts, ReduceOp.SUM).await();
                        expect(mine, "reduceScatter", i -> 3 * value(rank, i));
                    }
                    List<Tensor> out = new ArrayList<>();
                    List<Tensor> in = new ArrayList<>();
                    for (int peer = 0; peer < 3; peer++) {
                        int to = peer;
                        // Rank r gives rank p what has counts[r] elements.
                        in.add(ints(device, counts[rank], i -> value(10 * rank + to, i)));
                        out.add(ints(device, counts[peer], i -> -1));
                    }
                    group.allToAll(out, in).await();
                    for (int from = 0; from < 3; from++) {
                        int sender = from;
                        expect(out.get(from), "allToAll", i -> value(10 * sender + rank, i));
                    }
                    parts.forEach(Tensor::close);
                    in.forEach(Tensor::close);
                    out.forEach(Tensor::close);
                });
    }

    @Test
    void theCallerGoesOnAndTheInputIsWhatItsStreamMakes() {
        BACKEND.run(
                2,
                World.TIMEOUT,
                (group, device) -> {
                    try (Stream compute = Stream.create(device, false);
                            Tensor tensor = floats(device, 100);
                            Gate gate = Gate.on(compute);
                            Stream.Scope scope = compute.use()) {
                        assertThat(scope).isNotNull();
                        Gpu.fill(tensor, 5 + group.rank(), compute);
                        Work work = group.allReduce(tensor, ReduceOp.SUM);
                        assertThat(work.isCompleted()).isFalse();
                        gate.open();
                        work.await();
                        assertThat(work.isCompleted()).isTrue();
                        Gpu.axpy(tensor, tensor, 1, compute);
                        assertThat(tensor.copyTo(new float[100])).containsOnly(22);
                    }
                });
    }

    @Test
    void aSynchronousCallWaitsForTheStreamAndForTheEnd() {
        BACKEND.run(
                2,
                World.TIMEOUT,
                (group, device) -> {
                    try (Stream compute = Stream.create(device, false);
                            Tensor tensor = floats(device, 100);
                            Stream.Scope scope = compute.use()) {
                        assertThat(scope).isNotNull();
                        for (int step = 0; step < 20; step++) {
                            Gpu.fill(tensor, step, compute);
                            group.sync().allReduce(tensor, ReduceOp.SUM);
                            try (Stream other = Stream.create(device, false);
                                    Stream.Scope now = other.use()) {
                                assertThat(now).isNotNull();
                                assertThat(tensor.copyTo(new float[100])).containsOnly(2 * step);
                            }
                        }
                    }
                });
    }

    /** The stream still reads what was there when the message is already on this host. */
    @Test
    void aReceiveOverwritesNothingThatTheStreamStillReads() {
        BACKEND.run(
                2,
                World.TIMEOUT,
                (group, device) -> {
                    try (Stream compute = Stream.create(device, false);
                            Tensor tensor = floats(device, 50);
                            Tensor copy = floats(device, 50);
                            Stream.Scope scope = compute.use()) {
                        assertThat(scope).isNotNull();
                        Gpu.fill(tensor, 3 + group.rank(), compute);
                        Gpu.fill(copy, 0, compute);
                        if (group.rank() == 0) {
                            group.send(tensor, 1, 0).await();
                            group.send(tensor, 1, 0).await();
                            return;
                        }
                        try (Gate gate = Gate.on(compute);
                                Tensor second = floats(device, 50)) {
                            Gpu.axpy(copy, tensor, 1, compute);
                            Work received = group.recv(tensor, 0, 0);
                            try (Stream other = Stream.create(device, false);
                                    Stream.Scope now = other.use()) {
                                assertThat(now).isNotNull();
                                // It comes after the first one, which therefore has come.
                                group.recv(second, 0, 0).await();
                            }
                            assertThat(received.isCompleted()).isFalse();
                            gate.open();
                            received.await();
                            assertThat(received.sourceRank()).isZero();
                        }
                        assertThat(copy.copyTo(new float[50])).containsOnly(4);
                        assertThat(tensor.copyTo(new float[50])).containsOnly(3);
                    }
                });
    }

    @Test
    void aSendTakesWhatItsStreamMakes() {
        BACKEND.run(
                2,
                World.TIMEOUT,
                (group, device) -> {
                    try (Stream compute = Stream.create(device, false);
                            Tensor tensor = floats(device, 50);
                            Gate gate = Gate.on(compute);
                            Stream.Scope scope = compute.use()) {
                        assertThat(scope).isNotNull();
                        Gpu.fill(tensor, 6 + group.rank(), compute);
                        if (group.rank() == 0) {
                            Work sent = group.send(tensor, 1, 0);
                            // Long enough for whoever does not wait for the stream.
                            for (int i = 0; i < 50; i++) {
                                assertThat(sent.isCompleted()).isFalse();
                                LockSupport.parkNanos(1_000_000);
                            }
                            gate.open();
                            sent.await();
                        } else {
                            gate.open();
                            group.recv(tensor, 0, 0).await();
                            assertThat(tensor.copyTo(new float[50])).containsOnly(6);
                        }
                    }
                });
    }

    @Test
    void aCollectiveThatWaitsForItsStreamHoldsUpNoMessage() {
        BACKEND.run(
                2,
                World.TIMEOUT,
                (group, device) -> {
                    try (Stream slow = Stream.create(device, false);
                            Tensor sum = floats(device, 10);
                            Tensor message = floats(device, 10).copyFrom(new float[10]);
                            Gate gate = Gate.on(slow)) {
                        Work work;
                        try (Stream.Scope scope = slow.use()) {
                            assertThat(scope).isNotNull();
                            Gpu.fill(sum, 1, slow);
                            work = group.allReduce(sum, ReduceOp.SUM);
                        }
                        if (group.rank() == 0) {
                            group.send(message, 1, 3).await();
                        } else {
                            group.recvAnySource(message, 3).await();
                        }
                        assertThat(work.isCompleted()).isFalse();
                        gate.open();
                        work.await();
                        assertThat(sum.copyTo(new float[10])).containsOnly(2);
                    }
                });
    }

    @Test
    void tensorsMayBeClosedBeforeTheEnd() {
        BACKEND.run(
                2,
                World.TIMEOUT,
                (group, device) -> {
                    try (Stream compute = Stream.create(device, false);
                            Tensor result = ints(device, 3 * LARGE, i -> -1);
                            Gate gate = Gate.on(compute);
                            Stream.Scope scope = compute.use()) {
                        assertThat(scope).isNotNull();
                        Work work;
                        try (Tensor input = floats(device, 1000)) {
                            Gpu.fill(input, 2, compute);
                            work = group.allReduce(input, ReduceOp.SUM);
                        }
                        Work next = group.broadcast(result, 0);
                        gate.open();
                        work.await();
                        next.await();
                    }
                });
    }

    @Test
    void aBatchOfMessagesArrives() {
        BACKEND.run(
                3,
                World.TIMEOUT,
                (group, device) -> {
                    int rank = group.rank();
                    List<Tensor> mine = new ArrayList<>();
                    List<Tensor> got = new ArrayList<>();
                    Batch batch = group.batch();
                    for (int peer = 0; peer < 3; peer++) {
                        int other = peer;
                        mine.add(ints(device, 70_000, i -> value(10 * rank + other, i)));
                        got.add(ints(device, 70_000, i -> -1));
                        if (peer != rank) {
                            batch.send(mine.get(peer), peer, 0);
                            batch.recv(got.get(peer), peer, 0);
                        }
                    }
                    batch.issue().forEach(Work::await);
                    for (int peer = 0; peer < 3; peer++) {
                        if (peer != rank) {
                            int other = peer;
                            expect(got.get(peer), "batch", i -> value(10 * other + rank, i));
                        }
                    }
                    mine.forEach(Tensor::close);
                    got.forEach(Tensor::close);
                });
    }

    /** What both counts have in common must not pass for a result. */
    @Test
    void ranksThatDisagreeAboutALargeCountBothFail() {
        AtomicInteger failed = new AtomicInteger();
        BACKEND.run(
                2,
                enough(Duration.ofSeconds(20)),
                (group, device) -> {
                    int count = (2 + group.rank()) * LARGE;
                    try (Tensor tensor = ints(device, count, i -> 1)) {
                        Work work = group.allReduce(tensor, ReduceOp.SUM);
                        assertThatThrownBy(work::await)
                                .isInstanceOfAny(MismatchException.class, PeerLostException.class)
                                .hasMessageContaining("allReduce(int32 x " + count);
                        failed.incrementAndGet();
                    }
                });
        assertThat(failed).hasValue(2);
    }

    @Test
    void aStreamThatIsStuckEndsAtTheDeadline() {
        BACKEND.run(
                1,
                expires(Duration.ofSeconds(1)),
                (group, device) -> {
                    try (Stream stuck = Stream.create(device, false);
                            Tensor tensor = floats(device, 10);
                            Gate gate = Gate.on(stuck);
                            Stream.Scope scope = stuck.use()) {
                        assertThat(scope).isNotNull();
                        Work work = group.allReduce(tensor, ReduceOp.SUM);
                        assertThatThrownBy(work::await)
                                .isInstanceOf(OperationTimeoutException.class)
                                .hasMessageContaining("allReduce(float32 x 10");
                        assertThatThrownBy(() -> group.allReduce(tensor, ReduceOp.SUM))
                                .isInstanceOf(GroupAbortedException.class);
                        group.close();
                        gate.open();
                    }
                });
    }

    @Test
    void abortEndsWhatWaitsForAStreamAndWhatWaitsForAPeer() {
        BACKEND.run(
                2,
                World.TIMEOUT,
                (group, device) -> {
                    if (group.rank() == 1) {
                        return;
                    }
                    try (Stream stuck = Stream.create(device, false);
                            Tensor tensor = floats(device, 10);
                            Tensor other = floats(device, 10);
                            Gate gate = Gate.on(stuck);
                            Stream.Scope scope = stuck.use()) {
                        assertThat(scope).isNotNull();
                        Work send = group.send(other, 1, 7);
                        Work receive = group.recv(tensor, 1, 9);
                        group.abort();
                        for (Work work : List.of(send, receive)) {
                            assertThatThrownBy(work::await).isInstanceOf(JcclException.class);
                        }
                        group.close();
                        gate.open();
                    }
                });
    }

    /** What the other group has left must not go to other ranks as if it were good. */
    @Test
    void theFailureOfAGroupThatTheStreamWaitsForIsPassedOn() {
        Store store = HashStore.create(World.TIMEOUT);
        ProcessGroup lost = World.join(store, 0, 1, Ranks.TIMEOUT, NcclOptions.defaults());
        ProcessGroup group = BACKEND.alone();
        try (Tensor tensor = floats(World.GPU, 10).copyFrom(new float[10]);
                Stream stream = Stream.create(World.GPU, false);
                Gate gate = Gate.on(stream);
                Stream.Scope scope = stream.use()) {
            assertThat(scope).isNotNull();
            Work before = lost.allReduce(tensor, ReduceOp.SUM);
            before.await();
            Work behind = group.allReduce(tensor, ReduceOp.SUM);
            lost.abort();
            gate.open();
            assertThatThrownBy(behind::await).hasMessageContaining("abort() was called");
            assertThatThrownBy(() -> group.allReduce(tensor, ReduceOp.SUM))
                    .isInstanceOf(JcclException.class);
        } finally {
            group.close();
            lost.close();
        }
    }

    @Test
    void oneGroupServesBothKindsOfTensors() {
        ranks(
                "cpu:gloo,cuda:gloo",
                (group, device) -> {
                    int rank = group.rank();
                    assertThat(group.backend("cpu")).contains("gloo");
                    assertThat(group.backend("cuda")).contains("gloo");
                    try (Tensor onHost = Tensor.copyOf(new float[] {rank, 2});
                            Tensor onDevice =
                                    floats(device, 2).copyFrom(new float[] {10 + rank, 3})) {
                        Work one = group.allReduce(onDevice, ReduceOp.SUM);
                        Work two = group.allReduce(onHost, ReduceOp.SUM);
                        one.await();
                        two.await();
                        assertThat(onHost.copyTo(new float[2])).containsExactly(1, 4);
                        assertThat(onDevice.copyTo(new float[2])).containsExactly(21, 6);
                    }
                    group.barrier().await();
                    try (ProcessGroup pair = group.newGroup(List.of(1, 0)).orElseThrow();
                            Tensor onDevice = floats(device, 1).copyFrom(new float[] {rank})) {
                        pair.broadcast(onDevice, 0).await();
                        assertThat(onDevice.copyTo(new float[1])).containsExactly(1);
                    }
                });
    }

    private static void ranks(String backend, StagedBody body) {
        Store store = HashStore.create(World.TIMEOUT);
        List<Thread> threads = new ArrayList<>();
        List<Throwable> failures = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            int rank = i;
            Thread thread =
                    new Thread(
                            () -> {
                                Device device = World.gpu(rank);
                                try (ProcessGroup group =
                                        ProcessGroup.builder()
                                                .backend(backend)
                                                .store(store)
                                                .rank(rank)
                                                .worldSize(2)
                                                .device(device)
                                                .options(OPTIONS)
                                                .timeout(World.TIMEOUT)
                                                .build()) {
                                    body.run(group, device);
                                } catch (Throwable e) {
                                    synchronized (failures) {
                                        failures.add(e);
                                    }
                                }
                            });
            thread.start();
            threads.add(thread);
        }
        for (Thread thread : threads) {
            try {
                thread.join();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
        assertThat(failures).isEmpty();
    }

    private interface StagedBody {
        void run(ProcessGroup group, Device device);
    }

    @Test
    void aCapturedStreamIsRefused() {
        try (ProcessGroup group = BACKEND.alone();
                Tensor tensor = floats(World.GPU, 1).copyFrom(new float[] {4});
                Stream stream = Stream.create(World.GPU, false);
                Stream.Scope scope = stream.use()) {
            assertThat(scope).isNotNull();
            CudaErrors.check(
                    cudart.cudaStreamBeginCapture(
                            Gpu.handle(stream), cudart.cudaStreamCaptureModeGlobal),
                    "cudaStreamBeginCapture");
            assertThatThrownBy(() -> group.allReduce(tensor, ReduceOp.SUM))
                    .isInstanceOf(UsageException.class)
                    .hasMessageContaining("captured into a graph");
            CudaErrors.check(
                    cudart.cudaStreamEndCapture(Gpu.handle(stream), new CUgraph_st()),
                    "cudaStreamEndCapture");
            group.allReduce(tensor, ReduceOp.SUM).await();
            assertThat(tensor.copyTo(new float[1])).containsExactly(4);
        }
    }

    @Test
    void ranksOfPyTorchAreRefused() {
        assertThatThrownBy(
                        () ->
                                ProcessGroup.builder()
                                        .backend("cpu:gloo,cuda:gloo")
                                        .interop(Interop.TORCH)
                                        .store(HashStore.create(World.TIMEOUT))
                                        .rank(0)
                                        .worldSize(1)
                                        .build())
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("copies tensors on cuda through host memory");
    }

    @Test
    void aDeviceThatNobodyDrivesIsRefused() {
        assertThatThrownBy(
                        () ->
                                ProcessGroup.builder()
                                        .backend("abacus:gloo")
                                        .store(HashStore.create(World.TIMEOUT))
                                        .rank(0)
                                        .worldSize(1)
                                        .build())
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("backend gloo takes tensors on [cpu, cuda], not on abacus")
                .hasMessageContaining("the binding that drives them");
    }
}
