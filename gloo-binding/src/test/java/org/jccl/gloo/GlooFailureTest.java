package org.jccl.gloo;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.jccl.testing.Patience.NEVER;
import static org.jccl.testing.Patience.enough;
import static org.jccl.testing.Patience.expires;

import java.io.IOException;
import java.lang.ref.Reference;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.stream.Stream;
import org.jccl.DataType;
import org.jccl.GroupAbortedException;
import org.jccl.MismatchException;
import org.jccl.OperationTimeoutException;
import org.jccl.PeerLostException;
import org.jccl.ReduceOp;
import org.jccl.Store;
import org.jccl.spi.HostCommunicator;
import org.jccl.store.FileStore;
import org.jccl.store.HashStore;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class GlooFailureTest {

    private static final DataType TYPE = DataType.FLOAT32;
    private static final int BIG = 64 << 20;

    interface Call {
        void on(HostCommunicator communicator, Memory memory);
    }

    private static Arguments differ(String what, Call first, Call second) {
        return Arguments.of(what, first, second);
    }

    private static Call allReduce(int count, DataType type, ReduceOp op) {
        return (c, m) -> c.allReduce(m.address, m.address, count, type, op);
    }

    static Stream<Arguments> disagreements() {
        return Stream.of(
                differ(
                        "count",
                        allReduce(10, TYPE, ReduceOp.SUM),
                        allReduce(11, TYPE, ReduceOp.SUM)),
                differ(
                        "big count",
                        allReduce(4_000_000, TYPE, ReduceOp.SUM),
                        allReduce(5_000_000, TYPE, ReduceOp.SUM)),
                differ(
                        "nothing here, something there",
                        allReduce(0, TYPE, ReduceOp.SUM),
                        allReduce(8, TYPE, ReduceOp.SUM)),
                differ(
                        "types of one size",
                        allReduce(10, TYPE, ReduceOp.SUM),
                        allReduce(10, DataType.INT32, ReduceOp.SUM)),
                differ(
                        "reduce op",
                        allReduce(10, TYPE, ReduceOp.SUM),
                        allReduce(10, TYPE, ReduceOp.MAX)),
                differ(
                        "size, on either side of what this shim and gloo move",
                        allReduce(10, TYPE, ReduceOp.SUM),
                        allReduce(1_000_000, TYPE, ReduceOp.SUM)),
                differ(
                        "factor",
                        allReduce(10, TYPE, ReduceOp.premulSum(2)),
                        allReduce(10, TYPE, ReduceOp.premulSum(3))),
                differ(
                        "operation",
                        allReduce(10, TYPE, ReduceOp.SUM),
                        (c, m) -> c.broadcast(m.address, 10, TYPE, 0)),
                differ(
                        "root",
                        (c, m) -> c.broadcast(m.address, 10, TYPE, 0),
                        (c, m) -> c.broadcast(m.address, 10, TYPE, 1)),
                differ(
                        "barrier",
                        (c, m) -> c.barrier(),
                        (c, m) -> c.allGather(m.address, m.address, 2, TYPE)),
                differ(
                        "what one pair exchanges",
                        (c, m) ->
                                c.allToAllV(
                                        m.address,
                                        m.address + 512,
                                        new long[] {1, 2},
                                        new long[] {1, 3},
                                        TYPE),
                        (c, m) ->
                                c.allToAllV(
                                        m.address,
                                        m.address + 512,
                                        new long[] {3, 1},
                                        new long[] {1, 1},
                                        TYPE)));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("disagreements")
    void disagreementIsAnExceptionOnEveryRank(String what, Call first, Call second)
            throws Exception {
        List<Throwable> failures =
                Ranks.run(
                        2,
                        (rank, communicator) -> {
                            Memory memory = Memory.bytes(20_000_000);
                            communicator.barrier();
                            return catchThrowable(
                                    () -> (rank == 0 ? first : second).on(communicator, memory));
                        });
        assertThat(failures)
                .allSatisfy(
                        failure ->
                                assertThat(failure)
                                        .isInstanceOfAny(
                                                MismatchException.class, PeerLostException.class))
                .anySatisfy(
                        failure ->
                                assertThat(failure)
                                        .isInstanceOf(MismatchException.class)
                                        .hasMessageFindingMatch("another|elements differ"));
    }

    @Test
    void abortWakesABigBroadcastAndRefusesLaterCalls() throws Exception {
        CountDownLatch entered = new CountDownLatch(1);
        CountDownLatch done = new CountDownLatch(1);
        HostCommunicator[] first = new HostCommunicator[1];
        List<Future<Throwable>> results =
                Ranks.start(
                        2,
                        Ranks.TIMEOUT,
                        (rank, communicator) -> {
                            if (rank == 1) {
                                done.await();
                                return null;
                            }
                            first[0] = communicator;
                            Memory memory = Memory.bytes(BIG);
                            entered.countDown();
                            Throwable failure =
                                    catchThrowable(
                                            () ->
                                                    communicator.broadcast(
                                                            memory.address, BIG / 4, TYPE, 0));
                            Reference.reachabilityFence(memory);
                            assertThatThrownBy(() -> communicator.barrier())
                                    .isInstanceOf(GroupAbortedException.class);
                            return failure;
                        });
        entered.await();
        first[0].abort();
        first[0].abort();
        assertThat(results.get(0).get())
                .isInstanceOf(GroupAbortedException.class)
                .hasMessageContaining("aborted");
        done.countDown();
        results.get(1).get();
    }

    /** That thread reads from the connection itself, and a second one waits for the first. */
    @Test
    void abortWakesBothThreadsThatReceiveFromOneRank() throws Exception {
        CountDownLatch entered = new CountDownLatch(2);
        CountDownLatch done = new CountDownLatch(1);
        HostCommunicator[] first = new HostCommunicator[1];
        List<Future<List<Throwable>>> results =
                Ranks.start(
                        2,
                        Ranks.TIMEOUT,
                        (rank, communicator) -> {
                            if (rank == 1) {
                                done.await();
                                return List.of();
                            }
                            first[0] = communicator;
                            List<Future<Throwable>> waits = new ArrayList<>();
                            for (int tag = 0; tag < 2; tag++) {
                                Memory memory = Memory.bytes(4);
                                long request = communicator.recv(memory.address, 1, TYPE, 1, tag);
                                FutureTask<Throwable> wait =
                                        new FutureTask<>(
                                                () -> {
                                                    entered.countDown();
                                                    Throwable failure =
                                                            catchThrowable(
                                                                    () ->
                                                                            communicator.await(
                                                                                    request));
                                                    Reference.reachabilityFence(memory);
                                                    return failure;
                                                });
                                new Thread(wait).start();
                                waits.add(wait);
                            }
                            return List.of(waits.get(0).get(), waits.get(1).get());
                        });
        entered.await();
        first[0].abort();
        assertThat(results.get(0).get())
                .hasSize(2)
                .allSatisfy(each -> assertThat(each).isInstanceOf(GroupAbortedException.class));
        done.countDown();
        results.get(1).get();
    }

    /** One of them reads what both wait for. */
    @Test
    void threadsThatReceiveFromOneRankGetEachTheirs() throws Exception {
        int messages = 300;
        List<Integer> wrong =
                Ranks.run(
                        2,
                        (rank, communicator) -> {
                            List<Future<Integer>> threads = new ArrayList<>();
                            for (int i = 0; i < 3; i++) {
                                int tag = i;
                                FutureTask<Integer> work =
                                        new FutureTask<>(
                                                () -> pingPong(communicator, rank, tag, messages));
                                new Thread(work).start();
                                threads.add(work);
                            }
                            int count = 0;
                            for (Future<Integer> thread : threads) {
                                count += thread.get();
                            }
                            return count;
                        });
        assertThat(wrong).containsExactly(0, 0);
    }

    /** How many messages were others than the sender's. */
    private static int pingPong(HostCommunicator communicator, int rank, int tag, int messages) {
        int bytes = 4 << (6 * tag); // 4, 256, 16,384
        Memory out = Memory.bytes(bytes);
        Memory in = Memory.bytes(bytes);
        int wrong = 0;
        for (int i = 0; i < messages; i++) {
            out.bytes.putInt(bytes - 4, 1000 * tag + i + rank);
            for (boolean sends : new boolean[] {rank == 0, rank != 0}) {
                long request =
                        sends
                                ? communicator.send(
                                        out.address, bytes, DataType.INT8, 1 - rank, tag)
                                : communicator.recv(
                                        in.address, bytes, DataType.INT8, 1 - rank, tag);
                communicator.await(request);
            }
            wrong += in.bytes.getInt(bytes - 4) == 1000 * tag + i + 1 - rank ? 0 : 1;
        }
        Reference.reachabilityFence(out);
        Reference.reachabilityFence(in);
        return wrong;
    }

    @Test
    void abortWakesWhoReceivesFromAnybody() throws Exception {
        CountDownLatch entered = new CountDownLatch(2);
        HostCommunicator[] all = new HostCommunicator[2];
        List<Future<Throwable>> results =
                Ranks.start(
                        2,
                        Ranks.TIMEOUT,
                        (rank, communicator) -> {
                            all[rank] = communicator;
                            Memory memory = Memory.bytes(4);
                            long request =
                                    communicator.recv(
                                            memory.address,
                                            1,
                                            TYPE,
                                            HostCommunicator.ANY_SOURCE,
                                            0);
                            entered.countDown();
                            Throwable failure = catchThrowable(() -> communicator.await(request));
                            Reference.reachabilityFence(memory);
                            return failure;
                        });
        entered.await();
        all[0].abort();
        all[1].abort();
        assertThat(results.get(0).get()).isInstanceOf(GroupAbortedException.class);
        // The end of rank 0 may come before its own.
        assertThat(results.get(1).get())
                .isInstanceOfAny(GroupAbortedException.class, PeerLostException.class);
    }

    @Test
    void receivingFromAnybodyFailsWhenAllHaveLeft() throws Exception {
        List<Future<Throwable>> results =
                Ranks.start(
                        2,
                        enough(Duration.ofSeconds(20)),
                        (rank, communicator) -> {
                            if (rank == 1) {
                                return null;
                            }
                            awaitLoss(communicator, 1, new CountDownLatch(1));
                            Memory memory = Memory.bytes(4);
                            Throwable failure =
                                    catchThrowable(
                                            () ->
                                                    communicator.await(
                                                            communicator.recv(
                                                                    memory.address,
                                                                    1,
                                                                    TYPE,
                                                                    HostCommunicator.ANY_SOURCE,
                                                                    0)));
                            Reference.reachabilityFence(memory);
                            return failure;
                        });
        assertThat(results.get(0).get())
                .isInstanceOf(PeerLostException.class)
                .hasMessageContaining("rank 1");
        results.get(1).get();
    }

    /** What the others sent each other before they noticed is no sign that they disagree. */
    @Test
    void aRankThatLostAPeerBeforeAnAllToAllDoesNotBlameTheOthers() throws Exception {
        CountDownLatch connected = new CountDownLatch(3);
        CountDownLatch waiting = new CountDownLatch(1);
        List<Throwable> failures =
                Ranks.run(
                        3,
                        (rank, communicator) -> {
                            Memory memory = Memory.bytes(64);
                            connected.countDown();
                            connected.await();
                            if (rank == 1) {
                                waiting.await();
                                communicator.abort();
                            }
                            if (rank == 0) {
                                awaitLoss(communicator, 1, waiting);
                            }
                            Throwable failure =
                                    catchThrowable(
                                            () ->
                                                    communicator.allToAll(
                                                            memory.address,
                                                            memory.address + 32,
                                                            1,
                                                            DataType.INT8));
                            Reference.reachabilityFence(memory);
                            return failure;
                        });
        assertThat(failures.get(0))
                .isInstanceOf(PeerLostException.class)
                .hasMessageContaining("lost rank 1");
        assertThat(failures.get(1)).isInstanceOf(GroupAbortedException.class);
        assertThat(failures.get(2)).isInstanceOf(PeerLostException.class);
    }

    /** Only rank 2 deals with rank 3 in this tree, and closes its connections when it notices. */
    @Test
    void whoGaveUpTellsWhoWasLost() throws Exception {
        List<Throwable> failures =
                Ranks.run(
                        4,
                        (rank, communicator) -> {
                            Memory memory = Memory.bytes(64);
                            communicator.barrier();
                            if (rank == 3) {
                                communicator.abort();
                            }
                            Throwable failure =
                                    catchThrowable(
                                            () -> {
                                                while (true) {
                                                    communicator.broadcast(
                                                            memory.address, 16, TYPE, 0);
                                                }
                                            });
                            Reference.reachabilityFence(memory);
                            return failure;
                        });
        assertThat(failures.subList(0, 3))
                .allSatisfy(
                        failure ->
                                assertThat(failure)
                                        .isInstanceOf(PeerLostException.class)
                                        .hasMessageContaining("lost rank 3"));
        assertThat(failures.get(1)).hasMessageContaining("lost it and has given up");
    }

    /** Nothing can be written to rank 1, which does not read; all that it has to say was read. */
    @Test
    void whoStillSendsHearsWhoWasLost() throws Exception {
        CountDownLatch sending = new CountDownLatch(2);
        CountDownLatch aborted = new CountDownLatch(1);
        CountDownLatch heard = new CountDownLatch(1);
        HostCommunicator[] first = new HostCommunicator[1];
        List<Future<Throwable>> results =
                Ranks.start(
                        3,
                        enough(Duration.ofSeconds(20)),
                        (rank, communicator) -> {
                            Memory memory = Memory.bytes(rank == 1 ? 2 * BIG : BIG);
                            long[] sends = {0, rank == 1 ? 0 : BIG, 0};
                            long[] receives = {rank == 1 ? BIG : 0, 0, rank == 1 ? BIG : 0};
                            if (rank == 0) {
                                first[0] = communicator;
                            }
                            if (rank == 1) {
                                aborted.await();
                            } else {
                                sending.countDown();
                            }
                            Throwable failure =
                                    catchThrowable(
                                            () ->
                                                    communicator.allToAllV(
                                                            memory.address,
                                                            memory.address,
                                                            sends,
                                                            receives,
                                                            DataType.INT8));
                            Reference.reachabilityFence(memory);
                            if (rank == 2) {
                                heard.countDown();
                            }
                            heard.await();
                            return failure;
                        });
        sending.await();
        Thread.sleep(300); // until both wait for rank 1
        first[0].abort();
        aborted.countDown();
        assertThat(results.get(0).get()).isInstanceOf(GroupAbortedException.class);
        for (int rank : new int[] {1, 2}) {
            assertThat(results.get(rank).get())
                    .isInstanceOf(PeerLostException.class)
                    .hasMessageContaining("lost rank 0");
        }
    }

    /** Whatever the moment; the random part is which calls of which ranks it falls into. */
    @Test
    void aRankThatEndsDuringAllToAllsIsLostAndNoMismatch() throws Exception {
        int size = 4;
        Random random = new Random(4711);
        for (int round = 0; round < 100; round++) {
            int victim = random.nextInt(size);
            int calls = 1 + random.nextInt(20);
            int spins = random.nextInt(20_000);
            CountDownLatch called = new CountDownLatch(calls);
            List<Throwable> failures =
                    Ranks.run(
                            size,
                            (rank, communicator) -> {
                                CompletableFuture<?> abort =
                                        rank == victim
                                                ? abortAfter(communicator, called, spins)
                                                : CompletableFuture.completedFuture(null);
                                Memory memory = Memory.bytes(16 * size);
                                Throwable failure =
                                        catchThrowable(
                                                () -> {
                                                    while (true) {
                                                        communicator.allToAll(
                                                                memory.address,
                                                                memory.address + 8 * size,
                                                                8,
                                                                DataType.INT8);
                                                        if (rank == victim) {
                                                            called.countDown();
                                                        }
                                                    }
                                                });
                                abort.get();
                                Reference.reachabilityFence(memory);
                                return failure;
                            });
            for (int rank = 0; rank < size; rank++) {
                assertThat(failures.get(rank))
                        .as("round %d, victim %d, rank %d", round, victim, rank)
                        .isInstanceOf(
                                rank == victim
                                        ? GroupAbortedException.class
                                        : PeerLostException.class);
            }
        }
    }

    private static CompletableFuture<?> abortAfter(
            HostCommunicator communicator, CountDownLatch called, int spins) {
        return CompletableFuture.runAsync(
                () -> {
                    try {
                        called.await();
                    } catch (InterruptedException e) {
                        throw new CompletionException(e);
                    }
                    for (int i = 0; i < spins; i++) {
                        Thread.onSpinWait();
                    }
                    communicator.abort();
                },
                task -> new Thread(task).start());
    }

    /** Without a failure of the communicator, as await would bring it. */
    private static void awaitLoss(HostCommunicator communicator, int peer, CountDownLatch waiting) {
        Memory memory = Memory.bytes(1);
        try {
            long request = communicator.recv(memory.address, 1, DataType.INT8, peer, 0);
            waiting.countDown();
            while (!communicator.test(request)) {
                Thread.onSpinWait();
            }
        } catch (PeerLostException e) {
            // The peer had gone before this rank could begin to receive.
            waiting.countDown();
        }
        Reference.reachabilityFence(memory);
    }

    @Test
    void aLateRankIsATimeoutThatNamesIt() throws Exception {
        CountDownLatch failed = new CountDownLatch(3);
        List<Future<Throwable>> results =
                Ranks.start(
                        4,
                        expires(Duration.ofMillis(1500)),
                        (rank, communicator) -> {
                            Throwable failure = null;
                            if (rank != 2) {
                                failure =
                                        catchThrowable(
                                                () ->
                                                        ((GlooCommunicator) communicator)
                                                                .barrier(
                                                                        expires(
                                                                                Duration.ofMillis(
                                                                                        1500))));
                                failed.countDown();
                            }
                            failed.await();
                            return failure;
                        });
        for (int rank : new int[] {0, 1, 3}) {
            assertThat(results.get(rank).get())
                    .isInstanceOf(OperationTimeoutException.class)
                    .hasMessageContaining("timed out waiting for rank 2 within 1500 ms");
        }
        results.get(2).get();
    }

    @Test
    void missingRanksAreNamed() {
        Store store = HashStore.create(Ranks.TIMEOUT);
        assertThatThrownBy(
                        () ->
                                new GlooProvider()
                                        .create(
                                                Ranks.config(
                                                        1,
                                                        4,
                                                        store,
                                                        expires(Duration.ofMillis(200)))))
                .isInstanceOf(OperationTimeoutException.class)
                .hasMessageContaining("ranks [0, 2, 3] of 4");
    }

    /**
     * The peer is a process that is killed while bytes flow from here to it, or from it to here.
     */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aKilledPeerIsNoticedInTheMiddleOfABigTransfer(boolean sends, @TempDir Path directory)
            throws Exception {
        Process child =
                new ProcessBuilder(
                                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                                "--add-opens",
                                "java.base/java.nio=ALL-UNNAMED",
                                "-cp",
                                System.getProperty("java.class.path"),
                                Victim.class.getName(),
                                directory.toString(),
                                Boolean.toString(sends))
                        .redirectErrorStream(true)
                        .redirectOutput(directory.resolve("child.log").toFile())
                        .start();
        try (Store store = Victim.store(directory);
                HostCommunicator communicator =
                        new GlooProvider().create(Ranks.config(0, 2, store, NEVER))) {
            Memory memory = Memory.bytes(Victim.BYTES);
            memory.bytes.put(0, (byte) (sends ? 0 : 1));
            long request =
                    sends
                            ? communicator.recv(memory.address, Victim.BYTES, DataType.INT8, 1, 0)
                            : communicator.send(memory.address, Victim.BYTES, DataType.INT8, 1, 0);
            Path flowing = directory.resolve("flowing");
            while (sends ? memory.bytes.get(0) == 0 : !Files.exists(flowing)) {
                assertThat(child.isAlive()).as("the peer").isTrue();
                Thread.onSpinWait();
            }
            child.destroyForcibly();
            assertThatThrownBy(() -> communicator.await(request))
                    .isInstanceOf(PeerLostException.class)
                    .hasMessageContaining("rank 1");
            Reference.reachabilityFence(memory);
        } finally {
            child.destroyForcibly().waitFor();
        }
    }

    /** Its connection waits to be taken over, and is reset by then. It ended the process. */
    @Test
    void aPeerThatIsGoneBeforeItsTurnToConnectFailsTheCommunicator() throws Exception {
        GlooLibraries.load();
        long handle = GlooNative.create(0, 3, Ranks.TIMEOUT.toMillis(), 0, 0);
        assertThat(GlooNative.listen(handle, "127.0.0.1", 1000)).isZero();
        byte[] address = new byte[1024];
        int length = GlooNative.address(handle, 1, address, address.length);
        int port = ByteBuffer.wrap(address).getChar(2);
        // Of two addresses the larger one's rank dials.
        address[7] = 2;
        Future<Integer> first =
                CompletableFuture.supplyAsync(
                        () -> GlooNative.connect(handle, 1, address, length, 20_000));
        try (Socket gone = dial(port, 1002)) {
            // The number must have been read.
            Thread.sleep(500);
            gone.setSoLinger(true, 0);
        }
        try (Socket one = dial(port, 1001);
                Socket second = dial(port, 1004)) {
            assertThat(first.get()).isZero();
            assertThat(GlooNative.connect(handle, 2, address, length, 1000)).isNotZero();
            int text = GlooNative.message(handle, address, address.length);
            assertThat(new String(address, 0, text, UTF_8))
                    .contains("rank 2: the connection was lost");
            GlooNative.close(handle);
            assertThat(one.isConnected() && second.isConnected()).isTrue();
        }
    }

    /** Connects as a rank that was given this number. */
    private static Socket dial(int port, long number) throws IOException {
        Socket socket = new Socket("127.0.0.1", port);
        byte[] word = new byte[Long.BYTES];
        ByteBuffer.wrap(word).order(ByteOrder.nativeOrder()).putLong(number);
        socket.getOutputStream().write(word);
        return socket;
    }

    /** The other end of the transfer: starts it, tells when bytes arrive, then waits to die. */
    static final class Victim {

        static final int BYTES = 1 << 30;

        private Victim() {}

        static Store store(Path directory) {
            return FileStore.open(directory.resolve("store"), 2, Ranks.TIMEOUT);
        }

        public static void main(String[] args) throws Exception {
            Path directory = Path.of(args[0]);
            HostCommunicator communicator =
                    new GlooProvider().create(Ranks.config(1, 2, store(directory), Ranks.TIMEOUT));
            Memory memory = Memory.bytes(BYTES);
            if (Boolean.parseBoolean(args[1])) {
                memory.bytes.put(0, (byte) 1);
                communicator.await(communicator.send(memory.address, BYTES, DataType.INT8, 0, 0));
            } else {
                communicator.recv(memory.address, BYTES, DataType.INT8, 0, 0);
                while (memory.bytes.get(0) == 0) {
                    Thread.onSpinWait();
                }
                Files.createFile(directory.resolve("flowing"));
            }
            Thread.sleep(Ranks.TIMEOUT.toMillis()); // until it is killed
        }
    }
}
