package org.jccl.gloo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.jccl.testing.Patience.enough;

import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.jccl.JcclException;
import org.jccl.PeerLeftException;
import org.jccl.PeerLostException;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Store;
import org.jccl.Tensor;
import org.jccl.Work;
import org.jccl.launch.ProcessLauncher;
import org.jccl.store.HashStore;
import org.jccl.store.TcpStore;
import org.jccl.store.TcpStoreServer;
import org.jccl.testing.ChildJvm;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Ranks that close a group before the others do, that die, and that do both. */
@Timeout(120)
@Tag("all")
class LeavingTest {

    private static final int SIZE = 3;
    private static final Duration TIMEOUT = enough(Duration.ofSeconds(60));

    /** What a rank does in a thread of its own, in a world that is closed afterwards. */
    private interface Body {
        void run(ProcessGroup world) throws Exception;
    }

    private static ProcessGroup join(Store store, int rank) {
        return ProcessGroup.builder()
                .backend("gloo")
                .store(store)
                .rank(rank)
                .worldSize(SIZE)
                .timeout(TIMEOUT)
                .build();
    }

    private static void onRanks(List<Store> stores, Body body) throws Exception {
        List<CompletableFuture<Throwable>> ranks = new ArrayList<>();
        for (int i = 0; i < SIZE; i++) {
            int rank = i;
            CompletableFuture<Throwable> end = new CompletableFuture<>();
            Thread thread =
                    new Thread(
                            () ->
                                    end.complete(
                                            catchThrowable(
                                                    () -> {
                                                        try (ProcessGroup world =
                                                                join(stores.get(rank), rank)) {
                                                            body.run(world);
                                                        }
                                                    })));
            thread.setDaemon(true);
            thread.start();
            ranks.add(end);
        }
        List<Throwable> failures = new ArrayList<>();
        for (CompletableFuture<Throwable> rank : ranks) {
            failures.add(rank.get(100, TimeUnit.SECONDS));
        }
        assertThat(failures).containsOnlyNulls();
    }

    private static void onRanks(Body body) throws Exception {
        try (Store store = HashStore.create(TIMEOUT)) {
            onRanks(List.of(store, store, store), body);
        }
    }

    private static void sum(ProcessGroup group) {
        sum(group, 4);
    }

    private static void sum(ProcessGroup group, int count) {
        try (Tensor sum = Tensor.copyOf(new long[count])) {
            group.sync().allReduce(sum, ReduceOp.SUM);
        }
    }

    private static Throwable failureOf(ProcessGroup group, int count) {
        return catchThrowable(
                () -> {
                    while (true) {
                        sum(group, count);
                    }
                });
    }

    /** Small sums go by the shim's own connections, large ones by gloo's. */
    @ParameterizedTest
    @ValueSource(ints = {4, 100_000, 1_000_000})
    void whoIssuesMoreHearsWhichRankLeft(int count) throws Exception {
        try (Store store = HashStore.create(TIMEOUT)) {
            onRanks(
                    List.of(store, store, store),
                    world -> {
                        sum(world);
                        if (world.rank() == 1) {
                            return;
                        }
                        assertThat(failureOf(world, count))
                                .isInstanceOfSatisfying(
                                        PeerLeftException.class,
                                        left -> assertThat(left.exitCode()).isEqualTo(64))
                                .hasMessageContaining("rank 1 closed the group")
                                .hasMessageContaining("unevenInputs(true) and join()");
                    });
        }
    }

    @Test
    void aMessageToARankThatLeftSaysSo() throws Exception {
        try (Store store = HashStore.create(TIMEOUT)) {
            onRanks(
                    List.of(store, store, store),
                    world -> {
                        sum(world);
                        if (world.rank() != 0) {
                            return;
                        }
                        try (Tensor one = Tensor.copyOf(new long[1])) {
                            assertThat(catchThrowable(() -> world.recv(one, 1).await()))
                                    .isInstanceOf(PeerLeftException.class)
                                    .hasMessageContaining("rank 1 closed the group")
                                    .hasMessageContaining("takes no part in this send or receive");
                        }
                    });
        }
    }

    @Test
    void allMayCloseAtOnceAndNothingIsLeftInTheStore() throws Exception {
        CyclicBarrier together = new CyclicBarrier(SIZE);
        for (int i = 0; i < 30; i++) {
            try (Store store = HashStore.create(TIMEOUT)) {
                onRanks(
                        List.of(store, store, store),
                        world -> {
                            sum(world);
                            together.await();
                        });
                assertThat(store.listKeys()).noneMatch(key -> key.contains("/left"));
            }
        }
    }

    /** At random moments, seen from the others: in the middle of their sums, or between two. */
    @Test
    void oneThatFailedIsNeverTakenForOneThatLeft() throws Exception {
        for (int i = 0; i < 40; i++) {
            boolean fails = i % 2 == 0;
            int steps = i % 7;
            try (Store store = HashStore.create(TIMEOUT)) {
                onRanks(
                        List.of(store, store, store),
                        world -> {
                            for (int step = 0; step < steps; step++) {
                                sum(world);
                            }
                            if (world.rank() == 1) {
                                if (fails) {
                                    world.abort();
                                }
                                return;
                            }
                            Throwable thrown = failureOf(world, 4);
                            assertThat(thrown).isInstanceOf(JcclException.class);
                            assertThat(((JcclException) thrown).exitCode())
                                    .as("%s", thrown)
                                    .isEqualTo(fails ? 75 : 64);
                        });
            }
        }
    }

    @Test
    void aSubGroupIsLeftAndItsWorldGoesOn() throws Exception {
        onRanks(
                world -> {
                    Optional<ProcessGroup> made = world.newGroup(List.of(1, 2));
                    if (made.isPresent()) {
                        try (ProcessGroup pair = made.get()) {
                            sum(pair);
                            if (world.rank() == 2) {
                                assertThat(failureOf(pair, 4))
                                        .isInstanceOfSatisfying(
                                                PeerLeftException.class,
                                                left -> assertThat(left.peer()).isZero());
                            }
                        }
                    }
                    sum(world);
                });
    }

    @Test
    void closingWithAnOperationInFlightEndsWhenItsPeerHasLeft() throws Exception {
        try (Store store = HashStore.create(TIMEOUT)) {
            onRanks(
                    List.of(store, store, store),
                    world -> {
                        sum(world);
                        if (world.rank() == 1) {
                            return;
                        }
                        try (Tensor sum = Tensor.copyOf(new long[1])) {
                            Work work = world.allReduce(sum, ReduceOp.SUM);
                            world.close();
                            assertThat(catchThrowable(work::await))
                                    .isInstanceOf(PeerLeftException.class);
                        }
                    });
        }
    }

    /** Without a store nobody knows more than that a connection ended, and nobody waits for it. */
    @Test
    void aStoreThatIsGoneLeavesALostRank() throws Exception {
        TcpStoreServer server = TcpStoreServer.bind(new InetSocketAddress("127.0.0.1", 0));
        List<Store> stores =
                IntStream.range(0, SIZE)
                        .mapToObj(
                                rank ->
                                        (Store)
                                                TcpStore.connect(
                                                        "127.0.0.1", server.port(), TIMEOUT))
                        .toList();
        CyclicBarrier formed = new CyclicBarrier(SIZE, server::close);
        onRanks(
                stores,
                world -> {
                    sum(world);
                    formed.await();
                    if (world.rank() != 1) {
                        assertThat(failureOf(world, 4)).isInstanceOf(PeerLostException.class);
                    }
                });
        stores.forEach(Store::close);
    }

    /** A process that ends in one of several ways, while the others wait for it. */
    static final class Ending {
        private Ending() {}

        public static void main(String[] manner) {
            ProcessGroup world = ProcessGroup.init("gloo");
            sum(world);
            if (world.rank() == 1) {
                if (manner[0].contains("close")) {
                    world.close();
                }
                if (manner[0].contains("halt")) {
                    Runtime.getRuntime().halt(0);
                }
                System.exit(0);
            }
            try (world) {
                sum(world);
            } catch (JcclException e) {
                System.out.println("exits with " + e.exitCode() + ": " + e.getMessage());
            }
        }
    }

    @ParameterizedTest
    @CsvSource({"close, 64", "close halt, 64", "halt, 75", "exit, 75"})
    void theExitCodeSaysWhetherAnotherStartHelps(String manner, int code) {
        List<String> lines = new CopyOnWriteArrayList<>();
        ProcessLauncher.builder(SIZE)
                .mainClass(Ending.class, manner)
                .jvmArguments(ChildJvm.shortLived())
                .keepSurvivors()
                .timeout(enough(Duration.ofSeconds(100)))
                .output((rank, error, line) -> lines.add(line))
                .build()
                .run();
        assertThat(lines.stream().filter(line -> line.startsWith("exits with ")))
                .hasSize(SIZE - 1)
                .allMatch(line -> line.startsWith("exits with " + code + ": "));
    }
}
