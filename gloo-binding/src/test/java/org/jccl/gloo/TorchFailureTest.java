package org.jccl.gloo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.jccl.testing.Patience.enough;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.JcclException;
import org.jccl.MismatchException;
import org.jccl.ObjectCollectives;
import org.jccl.PeerLostException;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.UsageException;
import org.jccl.Work;
import org.jccl.testing.Torch;
import org.jccl.testing.TorchPython;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** What goes wrong between Java and Python ranks is an exception on both sides. */
@Timeout(value = 300, unit = TimeUnit.SECONDS)
@Tag("all")
class TorchFailureTest {

    private static final Duration TIMEOUT = enough(Duration.ofSeconds(120));

    /** After so many seconds PyTorch gives up, as it must where Gloo notices nothing. */
    private static final int GIVES_UP = 6;

    private static final int BIG = 2_000_000;
    private static final int STEP = 100_000;

    private static Torch python;

    private static Torch startPython() throws Exception {
        return Torch.start(
                Path.of(TorchFailureTest.class.getResource("torch_failures.py").toURI()));
    }

    @BeforeAll
    static void start() throws Exception {
        python = startPython();
    }

    @AfterAll
    static void end() {
        if (python != null) {
            python.close();
        }
    }

    interface Call {
        void on(ProcessGroup group, int count);
    }

    private static Tensor tensor(DataType type, long count) {
        return Tensor.allocate(Device.CPU, type, count);
    }

    private static void with(long count, Consumer<Tensor> call) {
        try (Tensor tensor = tensor(DataType.FLOAT32, count)) {
            call.accept(tensor);
        }
    }

    private static String line(String operation, int count, String store, int rank, int world) {
        return "%s %d %s %d %d %d".formatted(operation, count, store, rank, world, GIVES_UP);
    }

    /** With a long timeout: a killed rank is noticed at once, but the timeout includes joining. */
    private static String lineOfTraining(String store, int rank) {
        return "train %d %s %d 3 %d".formatted(STEP, store, rank, TIMEOUT.toSeconds());
    }

    /** In a world of two, what this rank does while PyTorch's rank does something else. */
    private static Throwable failure(int rank, String operation, int theirs, Call call, int ours)
            throws Exception {
        String store = TorchWorld.store();
        python.send(line(operation, theirs, store, 1 - rank, 2));
        try (ProcessGroup group = TorchWorld.join(store, rank, 2, TIMEOUT)) {
            return catchThrowable(
                    () -> {
                        call.on(group, ours);
                        group.barrier().await();
                    });
        }
    }

    static Stream<Arguments> sizes() {
        record Case(String operation, Call call) {}
        List<Case> cases =
                List.of(
                        new Case(
                                "all_reduce",
                                (g, n) -> with(n, t -> g.sync().allReduce(t, ReduceOp.SUM))),
                        new Case(
                                "reduce_to_0",
                                (g, n) -> with(n, t -> g.sync().reduce(t, 0, ReduceOp.SUM))),
                        new Case(
                                "broadcast_from_0",
                                (g, n) -> with(n, t -> g.sync().broadcast(t, 0))),
                        new Case(
                                "broadcast_from_1",
                                (g, n) -> with(n, t -> g.sync().broadcast(t, 1))),
                        new Case(
                                "all_gather",
                                (g, n) ->
                                        with(
                                                3 * n,
                                                t ->
                                                        g.sync()
                                                                .allGatherSingle(
                                                                        t.slice(0, 2 * n),
                                                                        t.slice(2 * n, n)))),
                        new Case(
                                "all_to_all",
                                (g, n) ->
                                        with(
                                                4 * n,
                                                t ->
                                                        g.sync()
                                                                .allToAllSingle(
                                                                        t.slice(0, 2 * n),
                                                                        t.slice(2 * n, 2 * n)))),
                        new Case(
                                "send", (g, n) -> with(n, t -> g.recv(t, 1 - g.rank(), 4).await())),
                        new Case(
                                "recv",
                                (g, n) -> with(n, t -> g.send(t, 1 - g.rank(), 4).await())));
        return cases.stream()
                .flatMap(
                        each ->
                                Stream.of(
                                        Arguments.of(each.operation(), each.call(), 10, 20, 0),
                                        Arguments.of(each.operation(), each.call(), 20, 10, 1),
                                        Arguments.of(each.operation(), each.call(), 10, BIG, 1)));
    }

    /** PyTorch alone ends the process that receives more than it expects. */
    @ParameterizedTest(name = "{0} of {2} in Python, {3} in Java")
    @MethodSource("sizes")
    void sizesThatDifferAreExceptionsOnBothSides(
            String operation, Call call, int theirs, int ours, int rank) throws Exception {
        assertThat(failure(rank, operation, theirs, call, ours))
                .isInstanceOf(MismatchException.class)
                .hasMessageContaining("rank " + (1 - rank))
                .hasMessageContaining("bytes");
        assertThat(python.line()).startsWith("error RuntimeError");
        assertThat(python.process().isAlive()).isTrue();
    }

    /** Gloo notices a connection that is lost in the middle of a message at its timeout only. */
    @Test
    void aMessageThatIsTooLargeIsRefusedBeforeItIsRead() throws Exception {
        Call receive = (group, count) -> with(count, t -> group.recv(t, 1, 4).await());
        sizesThatDifferAreExceptionsOnBothSides("send", receive, BIG, 10, 0);
    }

    @Test
    void anotherCollectiveIsNamed() throws Exception {
        Call broadcast = (group, count) -> with(count, t -> group.sync().broadcast(t, 1));
        assertThat(failure(1, "all_reduce", 10, broadcast, 10))
                .isInstanceOf(MismatchException.class)
                .hasMessageContaining("rank 0 issued all_reduce where this rank issued broadcast");
        assertThat(python.line()).startsWith("error RuntimeError");
    }

    @Test
    void typesThatPytorchLacksAreRefused() throws Exception {
        Call allReduce =
                (group, count) -> {
                    try (Tensor tensor = tensor(DataType.INT16, count)) {
                        group.sync().allReduce(tensor, ReduceOp.SUM);
                    }
                };
        assertThat(failure(0, "all_reduce_int16", 4, allReduce, 4))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("int16");
        assertThat(python.line()).isEqualTo("error RuntimeError Invalid scalar type");
        Call broadcast =
                (group, count) -> {
                    try (Tensor tensor = tensor(DataType.FLOAT8_E4M3, count)) {
                        group.sync().broadcast(tensor, 0);
                    }
                };
        assertThat(failure(1, "broadcast_int16", 4, broadcast, 4))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("float8");
        assertThat(python.line()).isEqualTo("error RuntimeError Invalid scalar type");
    }

    /** All ranks refuse alike, so they stay in step. */
    @Test
    void aRefusedCallDoesNotEndTheGroup() throws Exception {
        String store = TorchWorld.store();
        CompletableFuture<Throwable> other = new CompletableFuture<>();
        new Thread(() -> other.complete(catchThrowable(() -> refuseAndGoOn(store, 1)))).start();
        refuseAndGoOn(store, 0);
        assertThat(other.get(60, TimeUnit.SECONDS)).isNull();
    }

    private static void refuseAndGoOn(String store, int rank) {
        try (ProcessGroup group = TorchWorld.join(store, rank, 2, TIMEOUT);
                Tensor shorts = tensor(DataType.INT16, 4);
                Tensor floats = tensor(DataType.FLOAT32, 4)) {
            assertThatThrownBy(() -> group.sync().allReduce(shorts, ReduceOp.SUM))
                    .isInstanceOf(UsageException.class)
                    .hasMessageContaining("int16");
            Work broadcast = group.broadcast(shorts, 0);
            assertThatThrownBy(broadcast::await).isInstanceOf(UsageException.class);
            List<Tensor> parts = List.of(floats.slice(0, 1), floats.slice(1, 3));
            try (Tensor mine = tensor(DataType.FLOAT32, 1 + 2 * rank)) {
                assertThatThrownBy(() -> group.sync().allGather(parts, mine))
                        .isInstanceOf(UsageException.class)
                        .hasMessageContaining("equal parts");
            }
            floats.copyFrom(new float[] {1, 2, 3, 4});
            group.sync().allReduce(floats, ReduceOp.SUM);
            assertThat(floats.copyTo(new float[4])).containsExactly(2, 4, 6, 8);
        }
    }

    @Test
    void whatPytorchDoesNotKnowIsRefused() throws Exception {
        Call premul =
                (group, count) ->
                        with(count, t -> group.sync().allReduce(t, ReduceOp.premulSum(2)));
        Throwable refused = failure(0, "all_reduce", 4, premul, 4);
        assertThat(refused).isInstanceOf(UsageException.class);
        assertThat(python.line()).startsWith("error RuntimeError");
        Call split = (group, count) -> group.split(0, 0);
        assertThat(failure(0, "all_reduce", 4, split, 4))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("PyTorch");
        assertThat(python.line()).startsWith("error RuntimeError");
    }

    @Test
    void objectsThatAreNotBytesAreNotRead() throws Exception {
        Call gather = (group, count) -> ObjectCollectives.allGather(group, new byte[count]);
        assertThat(failure(0, "text", 9, gather, 9))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("not bytes");
        python.line();
    }

    /** Joins a world and reduces for ever. */
    static final class Trainer {

        private Trainer() {}

        public static void main(String[] args) {
            try (ProcessGroup group =
                            TorchWorld.join(
                                    args[0],
                                    Integer.parseInt(args[1]),
                                    Integer.parseInt(args[2]),
                                    TIMEOUT);
                    Tensor tensor = tensor(DataType.FLOAT32, STEP)) {
                while (true) {
                    group.sync().allReduce(tensor, ReduceOp.MAX);
                }
            }
        }
    }

    @Test
    void aKilledJavaRankFailsThePythonRanks() throws Exception {
        String store = TorchWorld.store();
        Process trainer =
                new ProcessBuilder(
                                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                                "-cp",
                                System.getProperty("java.class.path"),
                                Trainer.class.getName(),
                                store,
                                "1",
                                "3")
                        .inheritIO()
                        .start();
        try (Torch other = startPython()) {
            List<Torch> ranks = List.of(python, other);
            python.send(lineOfTraining(store, 0));
            other.send(lineOfTraining(store, 2));
            for (Torch rank : ranks) {
                assertThat(rank.line()).isEqualTo("training");
            }
            trainer.destroyForcibly();
            for (Torch rank : ranks) {
                assertThat(rank.line())
                        .startsWith("error RuntimeError")
                        .containsAnyOf("Connection closed by peer", "Connection reset by peer");
            }
        } finally {
            trainer.destroyForcibly();
        }
    }

    @Test
    void aKilledPythonRankFailsTheJavaRanks() throws Exception {
        String store = TorchWorld.store();
        List<Throwable> failures = Collections.synchronizedList(new ArrayList<>());
        try (Torch victim = startPython()) {
            victim.send(lineOfTraining(store, 1));
            List<Thread> ranks =
                    IntStream.of(0, 2)
                            .mapToObj(rank -> new Thread(() -> failures.add(train(store, rank))))
                            .toList();
            ranks.forEach(Thread::start);
            assertThat(victim.line()).isEqualTo("training");
            victim.process().destroyForcibly();
            for (Thread rank : ranks) {
                rank.join();
            }
        }
        assertThat(failures)
                .hasSize(2)
                .allSatisfy(
                        failure ->
                                assertThat(failure)
                                        .isInstanceOf(PeerLostException.class)
                                        .hasMessageContaining("lost rank 1"));
    }

    private static Throwable train(String store, int rank) {
        try (ProcessGroup group = TorchWorld.join(store, rank, 3, TIMEOUT);
                Tensor tensor = tensor(DataType.FLOAT32, STEP)) {
            while (true) {
                group.sync().allReduce(tensor, ReduceOp.MAX);
            }
        } catch (JcclException e) {
            return e;
        }
    }

    /** Its part has arrived, and nothing more is expected of it. */
    @Test
    void aPythonRankMayEndWhenItHasDoneItsPart() throws Exception {
        String store = TorchWorld.store();
        List<Process> ranks = List.of(gathering(store, 1, 0), gathering(store, 2, 4));
        try (ProcessGroup group = TorchWorld.join(store, 0, 3, TIMEOUT);
                Tensor own = tensor(DataType.FLOAT32, 1)) {
            List<Tensor> parts =
                    IntStream.range(0, 3).mapToObj(any -> tensor(DataType.FLOAT32, 1)).toList();
            group.sync().gather(parts, own, 0);
            assertThat(parts.get(1).copyTo(new float[1])).containsExactly(1);
            assertThat(parts.get(2).copyTo(new float[1])).containsExactly(2);
            parts.forEach(Tensor::close);
        } finally {
            ranks.forEach(Process::destroyForcibly);
        }
    }

    /**
     * A rank of PyTorch that waits, sends its number, and ends. It must not end before the other
     * one has joined: a rank of PyTorch that is about to connect fails if a connection ends
     * meanwhile.
     */
    private static Process gathering(String store, int rank, int seconds) throws Exception {
        String program =
                """
                import os, time, torch, torch.distributed as dist
                dist.init_process_group("gloo", init_method="%s", rank=%d, world_size=3)
                store = dist.distributed_c10d._get_default_store()
                store.set("joined/%d", "")
                store.wait(["joined/1", "joined/2"])
                time.sleep(%d)
                dist.gather(torch.full([1], %d.), None, 0)
                os._exit(0)
                """
                        .formatted(store, rank, rank, seconds, rank);
        return new ProcessBuilder(TorchPython.require(), "-W", "ignore", "-c", program)
                .inheritIO()
                .start();
    }
}
