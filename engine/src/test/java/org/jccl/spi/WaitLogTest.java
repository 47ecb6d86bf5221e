package org.jccl.spi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.jccl.testing.Patience.enough;
import static org.jccl.testing.Patience.expires;

import java.net.ServerSocket;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.IntPredicate;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.jccl.Store;
import org.jccl.bootstrap.Rendezvous;
import org.jccl.internal.group.WorldAgreement;
import org.jccl.store.HashStore;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(120)
@Tag("all")
final class WaitLogTest {

    private static final Duration LONG = enough(Duration.ofSeconds(100));
    private static final Duration SHORT = expires(Duration.ofMillis(20));

    private final Logger logger = Logger.getLogger(WaitLog.class.getName());
    private final BlockingQueue<String> lines = new LinkedBlockingQueue<>();
    private final ExecutorService threads = Executors.newCachedThreadPool();

    private final Handler handler =
            new Handler() {
                @Override
                public void publish(LogRecord record) {
                    lines.add(record.getMessage());
                }

                @Override
                public void flush() {}

                @Override
                public void close() {}
            };

    @BeforeEach
    void listen() {
        logger.addHandler(handler);
        logger.setUseParentHandlers(false);
    }

    @AfterEach
    void stopListening() {
        threads.shutdownNow();
        logger.removeHandler(handler);
        logger.setUseParentHandlers(true);
    }

    private String next() throws InterruptedException {
        return lines.poll(LONG.toSeconds(), TimeUnit.SECONDS);
    }

    private static SortedMap<Integer, String> here(List<Integer> ranks, IntPredicate came) {
        SortedMap<Integer, String> hosts = new TreeMap<>();
        ranks.stream().filter(came::test).forEach(rank -> hosts.put(rank, "host" + rank / 8));
        return hosts;
    }

    private static Optional<String> missing(int rank, int size, IntPredicate came) {
        return WaitLog.missing(rank, size, ranks -> here(ranks, came), away -> "");
    }

    @Test
    void linesComeUntilTheWaitIsOver() throws Exception {
        WaitLog log = WaitLog.start("rank 1", () -> Optional.of("no store"), SHORT, SHORT);
        assertThat(next()).matches("rank 1 has waited for \\d+ s: no store");
        assertThat(next()).matches("rank 1 has waited for \\d+ s: no store");
        log.close();
        while (lines.poll(200, TimeUnit.MILLISECONDS) != null) {
            // One may have been under way.
        }
        assertThat(lines).isEmpty();
    }

    @Test
    void theLowestRankThatHasComeNamesTheMissingAndTheHostsOfTheOthers() {
        assertThat(missing(0, 12, rank -> rank < 10))
                .contains(
                        "ranks [10, 11] of 12 have not arrived; ranks [0-9] have ([0-7] on host0,"
                                + " [8, 9] on host1)");
        assertThat(missing(2, 4, rank -> rank >= 2))
                .contains(
                        "ranks [0, 1] of 4 have not arrived; ranks [2, 3] have ([2, 3] on host0)");
        assertThat(missing(3, 4, rank -> rank >= 2)).isEmpty();
        assertThat(missing(0, 4, rank -> true)).isEmpty();
    }

    @Test
    void theLineEndsWithWhatElseIsKnown() {
        assertThat(
                        WaitLog.missing(
                                0,
                                2,
                                ranks -> here(ranks, rank -> rank == 0),
                                away -> "; ranks " + away + " want more"))
                .contains(
                        "ranks [1] of 2 have not arrived; ranks [0] have ([0] on host0); ranks [1]"
                                + " want more");
    }

    @Test
    void theLineStaysShortWhereThousandsAreMissing() {
        assertThat(missing(0, 10_000, rank -> rank % 2 == 0).orElseThrow())
                .contains("59, 61, 63, and 4968 more] of 10000 have not arrived")
                .contains("[56, 58, 60, 62] on host7, others on 1242 more hosts)")
                .hasSizeLessThan(800);
    }

    /** Ten seconds each; at the same time, so as not to take thirty. */
    @Test
    void whoeverJoinsAWorldSaysAfterTenSecondsForWhomItWaits() throws Exception {
        int unserved = freePort();
        String served = "tcp://127.0.0.1:" + freePort() + "?world_size=3&rank=";
        Store store = HashStore.create(LONG);
        Future<Rendezvous> zero = threads.submit(() -> join(served + 0));
        Future<Rendezvous> two = threads.submit(() -> join(served + 2));
        threads.submit(() -> join("tcp://127.0.0.1:" + unserved + "?world_size=2&rank=1"));
        threads.submit(() -> new WorldAgreement(store, 2, 4, false, LONG).enter());
        threads.submit(() -> new WorldAgreement(store, 3, 4, false, LONG).enter());
        String host = LocalHost.name();
        assertThat(List.of(next(), next(), next()))
                .anySatisfy(
                        line ->
                                assertThat(line)
                                        .matches("rank 0 has waited for 1\\d s: .*")
                                        .contains("ranks [1] of 3 have not arrived; ranks [0, 2]")
                                        .contains("have ([0, 2] on " + host + ")"))
                .anySatisfy(
                        line ->
                                assertThat(line)
                                        .startsWith("rank 1 has waited for")
                                        .contains("127.0.0.1:" + unserved)
                                        .contains("which rank 0 serves"))
                .anySatisfy(
                        line ->
                                assertThat(line)
                                        .startsWith("world, rank 2 has waited for")
                                        .contains("ranks [0, 1] of 4 have not arrived")
                                        .contains("[2, 3] on " + host));
        Rendezvous one = join(served + 1);
        one.close();
        two.get().close();
        zero.get().close();
    }

    private static int freePort() throws Exception {
        try (ServerSocket socket = new ServerSocket(0)) {
            return socket.getLocalPort();
        }
    }

    private static Rendezvous join(String url) {
        return Rendezvous.join(url, OptionalInt.empty(), OptionalInt.empty(), LONG, Map.of());
    }
}
