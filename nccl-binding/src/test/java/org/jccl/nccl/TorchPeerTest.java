package org.jccl.nccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.jccl.testing.Patience.enough;
import static org.jccl.testing.Patience.expires;

import java.io.BufferedReader;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jccl.BootstrapException;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.Interop;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Store;
import org.jccl.Tensor;
import org.jccl.Work;
import org.jccl.store.PrefixStore;
import org.jccl.store.TcpStore;
import org.jccl.store.TcpStoreServer;
import org.jccl.testing.ChildJvm;
import org.jccl.testing.FreePort;
import org.jccl.testing.TorchPython;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Java ranks beside a process that does what PyTorch's rank does, on the mock library. */
@Tag("all")
final class TorchPeerTest {

    private static final Duration TIMEOUT = enough(Duration.ofSeconds(120));

    private static final Map<String, Interop> INTEROPS =
            Map.of(
                    "lazy", Interop.TORCH,
                    "both", Interop.TORCH,
                    "eager", Interop.TORCH_EAGER,
                    "newer", Interop.TORCH_2_15,
                    "newer-lazy", Interop.TORCH_2_14_OPT_IN);

    /** What a Java rank does with the world. */
    private interface Body {
        void run(ProcessGroup world, Tensor x);
    }

    /** A process that is the peer in one world after the other: loading torch takes seconds. */
    private static final class Peer implements AutoCloseable {

        private static Peer idle;

        private final Process process;
        private final BufferedReader output;
        private boolean ended;

        private Peer() throws Exception {
            List<String> command = new ArrayList<>();
            String script =
                    Path.of(TorchPeerTest.class.getResource("torch_peer.py").toURI()).toString();
            command.addAll(List.of(TorchPython.require(), "-W", "ignore", script));
            for (NcclLibrary library :
                    List.of(NcclLibrary.DRIVER, NcclLibrary.RUNTIME_13, NcclLibrary.NCCL)) {
                command.add(System.getProperty(library.property));
            }
            ProcessBuilder builder = new ProcessBuilder(command);
            builder.environment().put("TORCH_CPP_LOG_LEVEL", "ERROR");
            process = builder.redirectErrorStream(true).start();
            output = process.inputReader();
            // Loading torch takes up to half a minute on a busy machine; no test measures that.
            expectOk();
        }

        /** Begins to be a rank of a world. */
        static Peer of(String mode, int rank, int world, int port) throws Exception {
            Peer peer = idle == null ? new Peer() : idle;
            idle = null;
            peer.ended = false;
            peer.process
                    .outputWriter()
                    .append("%s %d %d %d%n".formatted(mode, rank, world, port))
                    .flush();
            return peer;
        }

        /** Waits for its end in this world. */
        void expectOk() throws Exception {
            List<String> lines = new ArrayList<>();
            for (String line = ""; line != null && !line.equals("ok"); line = output.readLine()) {
                lines.add(line);
            }
            assertThat(process.isAlive()).as(String.join("\n", lines)).isTrue();
            ended = true;
        }

        /** Waits for its end, and returns what it printed. */
        String expectFailure() throws Exception {
            String lines = output.lines().collect(Collectors.joining("\n"));
            assertThat(process.waitFor()).isNotZero();
            return lines;
        }

        @Override
        public void close() {
            if (ended) {
                idle = this;
            } else {
                process.destroyForcibly();
            }
        }
    }

    @AfterAll
    static void endPeer() {
        if (Peer.idle != null) {
            Peer.idle.process.destroyForcibly();
            Peer.idle = null;
        }
    }

    private static ProcessGroup join(Interop interop, int rank, int world, int port) {
        return join("nccl", interop, rank, world, port);
    }

    private static ProcessGroup join(
            String backend, Interop interop, int rank, int world, int port) {
        return ProcessGroup.builder()
                .backend(backend)
                .initMethod("tcp://127.0.0.1:" + port + "?rank=" + rank + "&world_size=" + world)
                .interop(interop)
                .device(World.gpu(rank))
                .timeout(TIMEOUT)
                .build();
    }

    /** Runs the peer as one rank and a body as all the others. */
    private static void beside(String mode, int peerRank, int world, Body body) throws Exception {
        beside("nccl", mode, peerRank, world, body);
    }

    private static void beside(String backend, String mode, int peerRank, int world, Body body)
            throws Exception {
        Interop interop = INTEROPS.get(mode);
        int port = FreePort.next();
        ExecutorService threads = Executors.newFixedThreadPool(world);
        try (Peer peer = Peer.of(mode, peerRank, world, port)) {
            List<Future<?>> ranks = new ArrayList<>();
            for (int i = 0; i < world; i++) {
                if (i != peerRank) {
                    int rank = i;
                    ranks.add(
                            threads.submit(
                                    () -> asRank(backend, interop, rank, world, port, body)));
                }
            }
            for (Future<?> rank : ranks) {
                rank.get();
            }
            peer.expectOk();
        } finally {
            threads.shutdownNow();
        }
    }

    private static Void asRank(
            String backend, Interop interop, int rank, int world, int port, Body body)
            throws InterruptedException {
        try (ProcessGroup group = join(backend, interop, rank, world, port);
                Tensor x = Tensor.allocate(World.gpu(rank), DataType.FLOAT32, 1)) {
            body.run(group, x);
            awaitOthers(rank, world, port);
        }
        return null;
    }

    /** Waits for the peer. Rank 0 waits for all, since it serves the store. */
    static void awaitOthers(int rank, int world, int port) throws InterruptedException {
        try (TcpStore store = TcpStore.connect("127.0.0.1", port, TIMEOUT)) {
            store.await(List.of("peer is done"));
            long done = store.add("java ranks done", 1);
            while (rank == 0 && done < world - 1) {
                Thread.sleep(20);
                done = store.add("java ranks done", 0);
            }
        }
    }

    private static void set(Tensor x, float value) {
        x.copyFrom(new float[] {value});
    }

    private static float valueOf(Tensor x) {
        return x.copyTo(new float[1])[0];
    }

    private static float sum(ProcessGroup group, Tensor x, float value) {
        set(x, value);
        group.allReduce(x, ReduceOp.SUM).synchronize();
        return valueOf(x);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void communicatorsAreFormedUnderPyTorchsKeys(int peerRank) throws Exception {
        beside(
                "lazy",
                peerRank,
                2,
                (world, x) -> {
                    assertThat(sum(world, x, world.rank() + 1)).isEqualTo(3);
                    world.recv(x, peerRank, 0).synchronize();
                    assertThat(valueOf(x)).isEqualTo(7);
                    set(x, 8);
                    world.send(x, peerRank, 0).synchronize();
                    world.batch().recv(x, peerRank, 0).issue().forEach(Work::synchronize);
                    assertThat(valueOf(x)).isEqualTo(8);
                    try (ProcessGroup second = world.newGroup(List.of(0, 1)).orElseThrow()) {
                        assertThat(sum(second, x, 20)).isEqualTo(30);
                    }
                });
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void groupsOfTheNewerBackendFormCommunicatorsUnderItsKeys(int peerRank) throws Exception {
        beside(
                "newer-lazy",
                peerRank,
                2,
                (world, x) -> {
                    assertThat(sum(world, x, world.rank() + 1)).isEqualTo(3);
                    echo(world, x, peerRank);
                    lists(world, x);
                    try (ProcessGroup second = world.newGroup(List.of(0, 1)).orElseThrow()) {
                        assertThat(sum(second, x, 20)).isEqualTo(30);
                    }
                });
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void glooConnectsBeforeNcclDoesAndHasTheBarriers(int peerRank) throws Exception {
        beside(
                "cuda:nccl,cpu:gloo",
                "both",
                peerRank,
                2,
                (world, x) -> {
                    assertThat(sum(world, x, world.rank() + 1)).isEqualTo(3);
                    world.barrier().await();
                    try (Tensor number = Tensor.allocate(Device.CPU, DataType.FLOAT32, 1)) {
                        assertThat(sum(world, number, world.rank() + 1)).isEqualTo(3);
                    }
                    try (ProcessGroup second = world.newGroup(List.of(0, 1)).orElseThrow()) {
                        assertThat(sum(second, x, 20)).isEqualTo(30);
                        second.barrier().await();
                    }
                });
    }

    @Test
    void pytorchsNameOfTheNewerBackendSaysThatItIsUsedByChoice() throws Exception {
        int port = FreePort.next();
        try (Peer peer = Peer.of("newer-lazy", 0, 2, port);
                ProcessGroup world = join("cuda:nccl2", Interop.TORCH, 1, 2, port);
                Tensor x = Tensor.allocate(World.gpu(1), DataType.FLOAT32, 1)) {
            assertThat(peer).isNotNull();
            assertThat(sum(world, x, 2)).isEqualTo(3);
        }
    }

    @ParameterizedTest
    @CsvSource({"0, 3", "1, 3", "0, 4", "1, 4"})
    void groupsOfTheNewerBackendAreSplitFromItsWorld(int peerRank, int size) throws Exception {
        int java = 1 - peerRank;
        beside(
                "newer",
                peerRank,
                size,
                (world, x) -> {
                    if (world.rank() == java) {
                        echo(world, x, peerRank);
                    }
                    lists(world, x);
                    Optional<ProcessGroup> both = world.newGroup(List.of(0, 1));
                    assertThat(both.isPresent()).isEqualTo(world.rank() == java);
                    both.ifPresent(group -> assertThat(sum(group, x, 20)).isEqualTo(30));
                    javaRanksHaveAGroup(world, x, peerRank);
                    both.ifPresent(ProcessGroup::close);
                    // Python calls split_group, in which each rank names its own part.
                    boolean beside = world.rank() == java;
                    List<Integer> part =
                            beside ? List.of(0, 1) : IntStream.range(2, size).boxed().toList();
                    try (ProcessGroup own = world.newGroup(part).orElseThrow()) {
                        assertThat(sum(own, x, beside ? 20 : 1)).isEqualTo(beside ? 30 : size - 2);
                    }
                });
    }

    /** A group without the peer, which takes part in making it. */
    private static void javaRanksHaveAGroup(ProcessGroup world, Tensor x, int peerRank) {
        List<Integer> others =
                IntStream.range(0, world.size()).filter(rank -> rank != peerRank).boxed().toList();
        try (ProcessGroup group = world.newGroup(others).orElseThrow()) {
            assertThat(sum(group, x, 1)).isEqualTo(world.size() - 1);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "many, TORCH, 0, 3",
        "many, TORCH, 1, 4",
        "newer-many, TORCH_2_15, 0, 4",
        "newer-many, TORCH_2_15, 1, 3",
        "newer-many, TORCH_2_15, 3, 5"
    })
    void largeGroupsAreFormedWithSeveralIds(String mode, Interop interop, int peerRank, int size)
            throws Exception {
        int port = FreePort.next();
        try (Peer peer = Peer.of(mode, peerRank, size, port)) {
            Map<String, String> environment =
                    Map.of(
                            "TORCH_NCCL_RANKS_PER_ROOT",
                            "2",
                            ManyIdsRanks.ARGUMENTS,
                            "%s %d %d %d".formatted(interop, peerRank, size, port));
            assertThat(ChildJvm.outputOf(ManyIdsRanks.class, environment)).endsWith("ok\n");
            peer.expectOk();
        }
    }

    private static void echo(ProcessGroup world, Tensor x, int peerRank) {
        world.recv(x, peerRank, 0).synchronize();
        assertThat(valueOf(x)).isEqualTo(7);
        set(x, 8);
        world.send(x, peerRank, 0).synchronize();
    }

    private static void lists(ProcessGroup world, Tensor x) {
        int size = world.size();
        List<Tensor> parts = new ArrayList<>();
        for (int i = 0; i < size; i++) {
            parts.add(Tensor.allocate(World.gpu(world.rank()), DataType.FLOAT32, 1));
        }
        set(x, world.rank() + 1);
        world.allGather(parts, x).synchronize();
        for (int i = 0; i < size; i++) {
            assertThat(valueOf(parts.get(i))).isEqualTo(i + 1);
            set(parts.get(i), world.rank() + 10 * i);
        }
        world.reduceScatter(x, parts, ReduceOp.SUM).synchronize();
        assertThat(valueOf(x)).isEqualTo(size * (size - 1) / 2 + 10 * world.rank() * size);
        parts.forEach(Tensor::close);
    }

    @ParameterizedTest
    @CsvSource({"newer, lazy", "lazy, newer", "newer-lazy, eager"})
    void aRankZeroOfTheOtherBackendIsNamedInSeconds(String python, String java) throws Exception {
        int port = FreePort.next();
        try (Peer peer = Peer.of(python, 0, 2, port)) {
            assertThat(peer).isNotNull();
            assertThatThrownBy(() -> join(INTEROPS.get(java), 1, 2, port))
                    .isInstanceOf(BootstrapException.class)
                    .hasMessageContaining("nccl2")
                    .hasMessageContaining("nccl-legacy")
                    .hasMessageContaining("0/nccl_storekey_0")
                    .hasMessageContaining("Interop.torch(version)");
        }
    }

    @Test
    void aRankThatRejectsTheIdEndsTheRanksThatWaitForIt() throws Exception {
        int port = FreePort.next();
        ExecutorService threads = Executors.newFixedThreadPool(3);
        List<Future<Throwable>> failures = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            int rank = i;
            Interop interop = rank == 2 ? Interop.TORCH : Interop.TORCH_2_15;
            failures.add(threads.submit(() -> catchThrowable(() -> join(interop, rank, 3, port))));
        }
        for (Future<Throwable> failure : failures) {
            assertThat(failure.get())
                    .isInstanceOf(BootstrapException.class)
                    .hasMessageContaining("(nccl2) and wrote its id under")
                    .hasMessageContaining("rank 2 uses that of")
                    .hasMessageContaining("nccl-legacy");
        }
        threads.shutdown();
    }

    @Test
    void aRankZeroOfTheOtherBackendEndsPythonsRanksToo() throws Exception {
        try (TcpStoreServer server = TcpStoreServer.bind(new InetSocketAddress("127.0.0.1", 0));
                Store store = TcpStore.connect("127.0.0.1", server.port(), TIMEOUT)) {
            Thread rankZero =
                    new Thread(() -> catchThrowable(() -> joinOver(store, Interop.TORCH_2_15)));
            rankZero.setDaemon(true);
            rankZero.start();
            try (Peer peer = Peer.of("lazy", 1, 2, server.port())) {
                assertThat(peer.expectFailure()).contains("the id has");
            }
        }
    }

    /** Rank 0 of two, in the part of the store where ranks with an init method meet. */
    private static ProcessGroup joinOver(Store store, Interop interop) {
        return ProcessGroup.builder()
                .backend("nccl")
                .store(new PrefixStore("default_pg", store))
                .rank(0)
                .worldSize(2)
                .interop(interop)
                .device(World.gpu(0))
                .timeout(expires(Duration.ofSeconds(5)))
                .build();
    }

    @ParameterizedTest
    @CsvSource({"0, 3", "1, 3", "0, 4", "1, 4"})
    void groupsAreSplitFromAWorldThatIsBoundToDevices(int peerRank, int size) throws Exception {
        int java = 1 - peerRank;
        beside(
                "eager",
                peerRank,
                size,
                (world, x) -> {
                    if (world.rank() == java) {
                        world.recv(x, peerRank, 0).synchronize();
                        assertThat(valueOf(x)).isEqualTo(7);
                        set(x, 8);
                        world.send(x, peerRank, 0).synchronize();
                    }
                    Optional<ProcessGroup> both = world.newGroup(List.of(0, 1));
                    assertThat(both.isPresent()).isEqualTo(world.rank() == java);
                    both.ifPresent(group -> assertThat(sum(group, x, 20)).isEqualTo(30));
                    javaRanksHaveAGroup(world, x, peerRank);
                    both.ifPresent(ProcessGroup::close);
                });
    }
}
