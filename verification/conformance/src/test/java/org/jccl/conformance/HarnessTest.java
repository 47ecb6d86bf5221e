package org.jccl.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.jccl.testing.Patience.expires;

import java.lang.reflect.Method;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.FailureContext;
import org.jccl.OperationTimeoutException;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Store;
import org.jccl.Tensor;
import org.jccl.TestGroups;
import org.jccl.UsageException;
import org.jccl.conformance.inmemory.InMemoryProvider;
import org.jccl.store.HashStore;
import org.junit.jupiter.api.Test;

/** The suite's own tools report what they find. */
class HarnessTest {

    private static final Ranks.Body FAILING = HarnessTest::failOnOne;

    private final InMemoryProvider provider = new InMemoryProvider();
    private final ConformanceBackend backend =
            (store, rank, size, timeout) -> TestGroups.world(provider, store, rank, size, timeout);

    private static void failOnOne(Rank rank) {
        if (rank.rank() == 1) {
            throw new IllegalStateException("mine");
        }
        rank.group().sync().barrier();
    }

    private static void expectTooMuch(Rank rank) {
        Tensor tensor = rank.floats(1, 2);
        rank.group().sync().allReduce(tensor, ReduceOp.SUM);
        rank.expect(tensor, new long[] {2, 5}, "sum");
    }

    @Test
    void aRankThatFailsStopsTheOthersAndIsReported() {
        assertThatThrownBy(() -> backend.ranks().run(3, HarnessTest::failOnOne))
                .isInstanceOf(AssertionError.class)
                .hasRootCauseMessage("mine");
    }

    /** The devices of a suite have less memory than all its cases take. */
    @Test
    void tensorsOfARankAreClosedWhenItsBodyIsDone() {
        Queue<Tensor> made = new ConcurrentLinkedQueue<>();
        ConformanceBackend watched =
                new ConformanceBackend() {
                    @Override
                    public ProcessGroup join(Store store, int rank, int size, Duration timeout) {
                        return backend.join(store, rank, size, timeout);
                    }

                    @Override
                    public Tensor allocate(DataType type, int count) {
                        Tensor tensor = Tensor.allocate(Device.CPU, type, count);
                        made.add(tensor);
                        return tensor;
                    }
                };
        watched.ranks()
                .run(2, rank -> rank.group().allReduce(rank.floats(1), ReduceOp.SUM).await());
        assertThat(made).hasSize(2);
        for (Tensor tensor : made) {
            assertThatThrownBy(() -> tensor.copyTo(new float[1]))
                    .isInstanceOf(UsageException.class);
        }
    }

    @Test
    void aShortDeadlineIsForTheBodyAndNotForJoining() {
        AtomicInteger joins = new AtomicInteger();
        Duration deadline = expires(Duration.ofMillis(50));
        ConformanceBackend busy =
                (store, rank, size, timeout) -> {
                    if (joins.getAndIncrement() == 1) {
                        awaitNoLonger(timeout);
                    }
                    return backend.join(store, rank, size, timeout);
                };
        AtomicInteger bodies = new AtomicInteger();
        busy.ranks()
                .run(
                        2,
                        deadline,
                        rank -> {
                            assertThat(joins).hasValue(2);
                            bodies.incrementAndGet();
                        });
        assertThat(bodies).hasValue(2);
    }

    @Test
    void aWorldThatIsNeverFormedIsReported() {
        ConformanceBackend absent =
                (store, rank, size, timeout) -> {
                    if (timeout.compareTo(Ranks.TIMEOUT) < 0) {
                        throw new OperationTimeoutException(FailureContext.NONE, "too late");
                    }
                    return backend.join(store, rank, size, timeout);
                };
        assertThatThrownBy(() -> absent.ranks().run(2, expires(Duration.ofSeconds(1)), rank -> {}))
                .isInstanceOf(AssertionError.class)
                .hasRootCauseMessage("too late");
    }

    private static void awaitNoLonger(Duration timeout) {
        try {
            Thread.sleep(2 * timeout.toMillis());
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void whatABackendLacksIsNotAskedFor() throws Exception {
        ConformanceBackend untagged =
                new ConformanceBackend() {
                    @Override
                    public ProcessGroup join(Store store, int rank, int size, Duration timeout) {
                        throw new AssertionError("is not asked to join");
                    }

                    @Override
                    public boolean has(Capability capability) {
                        return capability != Capability.TAGS;
                    }
                };
        Method tags = PointToPointCases.class.getDeclaredMethod("tagsKeepMessagesApartInAnyOrder");
        Method batch = PointToPointCases.class.getDeclaredMethod("aBatchTakesCollectivesToo");
        assertThat(Cases.missing(tags, untagged)).contains(Capability.TAGS);
        assertThat(Cases.missing(tags, backend)).isEmpty();
        assertThat(Cases.missing(batch, untagged)).isEmpty();
    }

    /** Runs bodies as two processes do, and returns how often a world was joined. */
    private int joins(Ranks.Body... bodies) throws Exception {
        AtomicInteger joins = new AtomicInteger();
        ConformanceBackend counting =
                (store, rank, size, timeout) -> {
                    joins.incrementAndGet();
                    return backend.join(store, rank, size, timeout);
                };
        try (Store store = HashStore.create(Ranks.TIMEOUT)) {
            List<CompletableFuture<Void>> processes =
                    IntStream.range(0, 2)
                            .mapToObj(rank -> process(counting, store, rank, bodies))
                            .toList();
            for (CompletableFuture<Void> process : processes) {
                process.get(60, TimeUnit.SECONDS);
            }
        }
        return joins.get();
    }

    private static CompletableFuture<Void> process(
            ConformanceBackend backend, Store store, int rank, Ranks.Body... bodies) {
        return CompletableFuture.runAsync(
                () -> {
                    try (Worlds worlds = new Worlds()) {
                        for (int i = 0; i < bodies.length; i++) {
                            Ranks ranks =
                                    new ProcessRanks(backend, rank, 2, store, "case" + i, worlds);
                            Ranks.Body body = bodies[i];
                            try {
                                ranks.run(2, body);
                            } catch (AssertionError | RuntimeException e) {
                                assertThat(body).as("what failed by %s", e).isSameAs(FAILING);
                            }
                        }
                    }
                },
                task -> new Thread(task, "process-" + rank).start());
    }

    private static void addUp(Rank rank) {
        Tensor tensor = rank.floats(1);
        rank.group().sync().allReduce(tensor, ReduceOp.SUM);
        rank.expect(tensor, new long[] {2}, "sum");
    }

    @Test
    void casesOfProcessesShareTheirWorld() throws Exception {
        assertThat(joins(HarnessTest::addUp, HarnessTest::addUp, HarnessTest::addUp)).isEqualTo(2);
    }

    /** Else it waits for them in its next case, and its time there is over before they come. */
    @Test
    void aRankOutsideAWorldWaitsForThoseInIt() throws Exception {
        CountDownLatch outsideRuns = new CountDownLatch(1);
        AtomicInteger done = new AtomicInteger();
        Ranks.Body body =
                rank -> {
                    outsideRuns.await();
                    addUp(rank);
                    done.incrementAndGet();
                };
        try (Store store = HashStore.create(Ranks.TIMEOUT)) {
            List<CompletableFuture<Void>> inside =
                    IntStream.range(0, 2)
                            .mapToObj(
                                    rank ->
                                            CompletableFuture.runAsync(
                                                    () ->
                                                            new ProcessRanks(
                                                                            backend, rank, 3, store,
                                                                            "case")
                                                                    .run(2, body),
                                                    task -> new Thread(task).start()))
                            .toList();
            outsideRuns.countDown();
            new ProcessRanks(backend, 2, 3, store, "case").run(2, body);
            assertThat(done).hasValue(2);
            for (CompletableFuture<Void> rank : inside) {
                rank.get(60, TimeUnit.SECONDS);
            }
        }
    }

    @Test
    void aCaseThatFailedLeavesNoWorldBehind() throws Exception {
        assertThat(joins(HarnessTest::addUp, FAILING, HarnessTest::addUp)).isEqualTo(4);
    }

    /** As after a case that one rank gave up waiting in, and the other passed. */
    @Test
    void aWorldThatOneRankHasLostIsFormedAgain() throws Exception {
        try (Store store = HashStore.create(Ranks.TIMEOUT)) {
            Worlds[] worlds = {new Worlds(), new Worlds()};
            for (String test : List.of("first", "second")) {
                List<CompletableFuture<Void>> ranks =
                        IntStream.range(0, 2)
                                .mapToObj(
                                        rank ->
                                                CompletableFuture.runAsync(
                                                        () ->
                                                                new ProcessRanks(
                                                                                backend,
                                                                                rank,
                                                                                2,
                                                                                store,
                                                                                test,
                                                                                worlds[rank])
                                                                        .run(2, HarnessTest::addUp),
                                                        task -> new Thread(task).start()))
                                .toList();
                for (CompletableFuture<Void> rank : ranks) {
                    rank.get(60, TimeUnit.SECONDS);
                }
                assertThat(worlds[1].name(2)).startsWith(test);
                worlds[0].take(2).close();
            }
            worlds[1].close();
        }
    }

    @Test
    void wrongElementsAreReported() {
        assertThatThrownBy(() -> backend.ranks().run(2, HarnessTest::expectTooMuch))
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining("first wrong element 1");
    }

    @Test
    void halvesAreEncodedAsTheStandardsSay() {
        double tiny = Math.scalb(1.0, -24);
        double[] halves = {0, 1, -2, 65504, 65520, tiny, 1 + Math.scalb(1.0, -10), 2049};
        byte[] encoded = Elements.encode(DataType.FLOAT16, halves);
        assertThat(bits(encoded))
                .containsExactly(0, 0x3c00, 0xc000, 0x7bff, 0x7c00, 1, 0x3c01, 0x6800);
        halves[4] = Double.POSITIVE_INFINITY;
        halves[7] = 2048;
        assertThat(Elements.decode(DataType.FLOAT16, encoded)).containsExactly(halves);
    }

    @Test
    void bfloat16IsTheRoundedUpperHalfOfAFloat() {
        byte[] encoded =
                Elements.encode(DataType.BFLOAT16, new double[] {0, 1, -2, 256, 257, 259, 3.5});
        assertThat(bits(encoded))
                .containsExactly(0, 0x3f80, 0xc000, 0x4380, 0x4380, 0x4382, 0x4060);
        assertThat(Elements.decode(DataType.BFLOAT16, encoded))
                .containsExactly(0, 1, -2, 256, 256, 260, 3.5);
    }

    private static int[] bits(byte[] elements) {
        double[] values = Elements.decode(DataType.INT16, elements);
        int[] bits = new int[values.length];
        for (int i = 0; i < bits.length; i++) {
            bits[i] = (int) values[i] & 0xffff;
        }
        return bits;
    }
}
