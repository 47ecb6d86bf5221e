package org.jccl.bootstrap;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.jccl.testing.Patience.enough;
import static org.jccl.testing.Patience.expires;

import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jccl.BootstrapException;
import org.jccl.JcclException;
import org.jccl.Store;
import org.jccl.StoreException;
import org.jccl.StoreTimeoutException;
import org.jccl.UsageException;
import org.jccl.spi.LocalHost;
import org.jccl.store.HashStore;
import org.jccl.store.TcpStoreServer;
import org.jccl.testing.FreePort;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RendezvousTest {

    private static final Duration TIMEOUT = enough(Duration.ofSeconds(30));
    private static final OptionalInt NONE = OptionalInt.empty();

    private static Rendezvous join(String method, OptionalInt rank, OptionalInt worldSize) {
        return Rendezvous.join(method, rank, worldSize, TIMEOUT, Map.of());
    }

    /** Joins as each rank in a thread of its own; every rank writes a key and reads all. */
    private static void meet(int worldSize, Joiner joiner) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(worldSize);
        try {
            List<Callable<Rendezvous>> ranks = new ArrayList<>();
            for (int i = 0; i < worldSize; i++) {
                int rank = i;
                ranks.add(
                        () -> {
                            Rendezvous meeting = joiner.join(rank);
                            assertThat(meeting.membership().rank()).isEqualTo(rank);
                            assertThat(meeting.membership().worldSize()).isEqualTo(worldSize);
                            meeting.store().set("rank " + rank, new byte[] {(byte) rank});
                            for (int other = 0; other < worldSize; other++) {
                                assertThat(meeting.store().get("rank " + other))
                                        .containsExactly(other);
                            }
                            return meeting;
                        });
            }
            List<Rendezvous> meetings = new ArrayList<>();
            for (Future<Rendezvous> rank : threads.invokeAll(ranks)) {
                meetings.add(rank.get());
            }
            // The rank that serves the store waits for those that are not closed.
            Collections.reverse(meetings);
            for (Rendezvous meeting : meetings) {
                meeting.close();
                meeting.close();
            }
        } finally {
            threads.shutdownNow();
        }
    }

    private interface Joiner {
        Rendezvous join(int rank);
    }

    @Test
    void tcpWithRanksInTheUrl() throws Exception {
        int port = FreePort.next();
        meet(
                3,
                rank ->
                        join(
                                "tcp://127.0.0.1:"
                                        + port
                                        + "?rank="
                                        + rank
                                        + "&world_size=3&use_libuv=1",
                                NONE,
                                NONE));
    }

    @Test
    void theServingRankWaitsForTheOthers() throws Exception {
        int port = FreePort.next();
        String url = "tcp://127.0.0.1:" + port;
        ExecutorService threads = Executors.newFixedThreadPool(2);
        try {
            Future<Rendezvous> zero =
                    threads.submit(() -> join(url, OptionalInt.of(0), OptionalInt.of(2)));
            Rendezvous one = join(url, OptionalInt.of(1), OptionalInt.of(2));
            Rendezvous serving = zero.get();
            serving.store().set("outcome", new byte[] {7});
            Future<?> closing = threads.submit(serving::close);
            assertThatThrownBy(() -> closing.get(200, TimeUnit.MILLISECONDS))
                    .isInstanceOf(TimeoutException.class);
            assertThat(one.store().get("outcome")).containsExactly(7);
            one.close();
            closing.get();
        } finally {
            threads.shutdownNow();
        }
    }

    @Test
    void tcpWithRanksAsArguments() throws Exception {
        int port = FreePort.next();
        meet(2, rank -> join("tcp://localhost:" + port, OptionalInt.of(rank), OptionalInt.of(2)));
    }

    @Test
    void file(@TempDir Path folder) throws Exception {
        String url = folder.resolve("meeting place").toUri().toString();
        String method = url.replaceFirst("^file:/+", "file:///") + "?world_size=3&rank=";
        meet(3, rank -> join(method + rank, NONE, NONE));
    }

    @Test
    void environmentWhereRankZeroServes() throws Exception {
        String port = Integer.toString(FreePort.next());
        meet(2, rank -> Rendezvous.join("env://", NONE, NONE, TIMEOUT, plain(rank, port)));
    }

    @Test
    void environmentWhereTheLauncherServes() throws Exception {
        try (TcpStoreServer server = TcpStoreServer.bind(new InetSocketAddress("127.0.0.1", 0))) {
            String port = Integer.toString(server.port());
            meet(
                    2,
                    rank -> {
                        Map<String, String> variables = plain(rank, port);
                        variables.put("TORCHELASTIC_USE_AGENT_STORE", "True");
                        return Rendezvous.join("env://", NONE, NONE, TIMEOUT, variables);
                    });
            // The ranks are gone, the launcher's store is not: a URL that names it finds it.
            Map<String, String> variables = plain(0, port);
            variables.put("TORCHELASTIC_USE_AGENT_STORE", "True");
            String url = "tcp://127.0.0.1:" + port + "?rank=0&world_size=1";
            try (Rendezvous again = Rendezvous.join(url, NONE, NONE, TIMEOUT, variables)) {
                assertThat(again.store().get("rank 1")).containsExactly(1);
            }
        }
    }

    private static Rendezvous joinRun(String run, int rank, String port) {
        Map<String, String> variables = plain(rank, port);
        variables.put("TORCHELASTIC_RUN_ID", run);
        variables.put("LOCAL_RANK", "0");
        return Rendezvous.join("env://", NONE, NONE, TIMEOUT, variables);
    }

    @Test
    @Timeout(60)
    @Execution(ExecutionMode.CONCURRENT)
    void aRankOfAnotherRunIsToldBothRunsAndDoesNotCount() throws Exception {
        String port = Integer.toString(FreePort.next());
        ExecutorService threads = Executors.newFixedThreadPool(1);
        try {
            Future<Rendezvous> zero = threads.submit(() -> joinRun("A", 0, port));
            assertThatThrownBy(() -> joinRun("B", 1, port))
                    .isInstanceOf(BootstrapException.class)
                    .hasMessageContaining("this rank belongs to run 'B'")
                    .hasMessageContaining("the store at 127.0.0.1:" + port)
                    .hasMessageContaining("belongs to run 'A'");
            assertThat(zero).isNotDone();
            Rendezvous one = joinRun("A", 1, port);
            assertThat(zero.get().membership().rank()).isZero();
            one.close();
            zero.get().close();
        } finally {
            threads.shutdownNow();
        }
    }

    @Test
    @Timeout(60)
    void theNextRunAtAnAddressWaitsUntilTheRunBeforeHasClosedItsStore() throws Exception {
        InetSocketAddress address = new InetSocketAddress("127.0.0.1", FreePort.next());
        String port = Integer.toString(address.getPort());
        ExecutorService threads = Executors.newFixedThreadPool(2);
        try {
            Future<Rendezvous> one;
            try (TcpStoreServer before =
                    TcpStoreServer.bind(address, Map.of("jccl/run-id", new byte[] {'A'}))) {
                one = threads.submit(() -> joinRun("B", 1, port));
                while (before.requests() < 2) {
                    Thread.onSpinWait();
                }
            }
            Rendezvous zero = joinRun("B", 0, port);
            one.get().close();
            zero.close();
        } finally {
            threads.shutdownNow();
        }
    }

    @Test
    @Timeout(60)
    void inTheStoreOfALauncherTheFirstRankSaysWhichRunItIs() {
        try (TcpStoreServer server = TcpStoreServer.bind(new InetSocketAddress("127.0.0.1", 0))) {
            Map<String, String> variables = plain(1, Integer.toString(server.port()));
            variables.put("LOCAL_RANK", "0");
            variables.put("TORCHELASTIC_USE_AGENT_STORE", "True");
            variables.put("TORCHELASTIC_RUN_ID", "A");
            Rendezvous.join("env://", NONE, NONE, TIMEOUT, variables).close();
            Rendezvous.join("env://", NONE, NONE, TIMEOUT, variables).close();
            variables.put("TORCHELASTIC_RUN_ID", "B");
            assertThatThrownBy(() -> Rendezvous.join("env://", NONE, NONE, TIMEOUT, variables))
                    .isInstanceOf(BootstrapException.class)
                    .hasMessageContaining("this rank belongs to run 'B'")
                    .hasMessageContaining("belongs to run 'A'");
        }
    }

    @Test
    @Timeout(60)
    void twoJobsOfOneLauncherAtOneAddressAreToldApart() throws Exception {
        String port = Integer.toString(FreePort.next());
        ExecutorService threads = Executors.newFixedThreadPool(1);
        try {
            Future<Rendezvous> zero = threads.submit(() -> joinMpi("7", 0, port));
            assertThatThrownBy(() -> joinMpi("8", 1, port))
                    .isInstanceOf(BootstrapException.class)
                    .hasMessageContaining("this rank belongs to run 'PMIX_NAMESPACE=8'")
                    .hasMessageContaining("belongs to run 'PMIX_NAMESPACE=7'");
            assertThatThrownBy(() -> Rendezvous.join("env://", NONE, NONE, TIMEOUT, plain(1, port)))
                    .isInstanceOf(BootstrapException.class)
                    .hasMessageContaining("this rank belongs to run '(no id)'");
            assertThat(zero).isNotDone();
            joinMpi("7", 1, port).close();
            zero.get().close();
        } finally {
            threads.shutdownNow();
        }
    }

    private static Rendezvous joinMpi(String job, int rank, String port) {
        Map<String, String> variables = new HashMap<>();
        variables.put("OMPI_COMM_WORLD_RANK", Integer.toString(rank));
        variables.put("OMPI_COMM_WORLD_SIZE", "2");
        variables.put("PMIX_NAMESPACE", job);
        variables.put("MASTER_ADDR", "127.0.0.1");
        variables.put("MASTER_PORT", port);
        return Rendezvous.join("env://", NONE, NONE, TIMEOUT, variables);
    }

    @Test
    @Timeout(60)
    void aSecondProcessOfARankIsAnErrorOnBothSides() throws Exception {
        failsOnBothSides(3, "1", "3", "rank 1 of 3 (process ", "rank 1 of 3 (process ");
    }

    @Test
    @Timeout(60)
    void anotherWorldSizeIsAnErrorOnBothSides() throws Exception {
        failsOnBothSides(3, "2", "4", "rank 0 of 3 (process ", "rank 2 of 4 (process ");
    }

    /** Rank 0 and 1 join here, another rank in a process of its own. */
    private static void failsOnBothSides(
            int worldSize, String otherRank, String otherSize, String first, String second)
            throws Exception {
        String port = Integer.toString(FreePort.next());
        String url = "tcp://127.0.0.1:" + port + "?world_size=" + worldSize + "&rank=";
        ExecutorService threads = Executors.newFixedThreadPool(1);
        try {
            Future<Rendezvous> zero = threads.submit(() -> join(url + 0, NONE, NONE));
            try (Rendezvous one = join(url + 1, NONE, NONE)) {
                assertThat(one.membership().rank()).isEqualTo(1);
                Process other =
                        new ProcessBuilder(
                                        Path.of(System.getProperty("java.home"), "bin", "java")
                                                .toString(),
                                        "-XX:TieredStopAtLevel=1",
                                        "-cp",
                                        System.getProperty("java.class.path"),
                                        Joining.class.getName(),
                                        "tcp://127.0.0.1:%s?world_size=%s&rank=%s"
                                                .formatted(port, otherSize, otherRank))
                                .redirectErrorStream(true)
                                .start();
                String said = new String(other.getInputStream().readAllBytes());
                String host = " on " + LocalHost.name() + ")";
                assertThat(said)
                        .contains(first + ProcessHandle.current().pid() + host)
                        .contains(second + other.pid() + host)
                        .contains("joined the same store, at 127.0.0.1:" + port);
            }
            assertThatThrownBy(zero::get)
                    .hasCauseInstanceOf(BootstrapException.class)
                    .hasMessageContaining(first + ProcessHandle.current().pid())
                    .hasMessageContaining(second);
        } finally {
            threads.shutdownNow();
        }
    }

    /** Joins as the rank of its URL, and prints the message of the failure. */
    static final class Joining {

        private Joining() {}

        public static void main(String[] arguments) {
            try {
                join(arguments[0], NONE, NONE).close();
                System.out.println("joined");
            } catch (JcclException e) {
                System.out.println(e.getMessage());
            }
        }
    }

    @Test
    void anAddressIsNotLookedUp() throws Exception {
        String url = "tcp://127.0.0.1:" + FreePort.next() + "?rank=1&world_size=2";
        for (int i = 0; i < 20; i++) {
            assertThatThrownBy(
                            () ->
                                    Rendezvous.join(
                                            url,
                                            NONE,
                                            NONE,
                                            expires(Duration.ofNanos(1)),
                                            Map.of()))
                    .isInstanceOf(StoreException.class)
                    .hasMessageNotContaining("cannot be found");
        }
        assertThatThrownBy(() -> join("tcp://127.0.0.999:1?rank=1&world_size=2", NONE, NONE))
                .isInstanceOf(BootstrapException.class)
                .hasMessageContaining("it is not a valid address");
    }

    private static Map<String, String> plain(int rank, String port) {
        Map<String, String> variables = new HashMap<>();
        variables.put("RANK", Integer.toString(rank));
        variables.put("WORLD_SIZE", "2");
        variables.put("MASTER_ADDR", "127.0.0.1");
        variables.put("MASTER_PORT", port);
        return variables;
    }

    @Test
    void argumentsFillWhatTheEnvironmentLeavesOut() throws Exception {
        Map<String, String> variables =
                Map.of(
                        "MASTER_ADDR",
                        "127.0.0.1",
                        "MASTER_PORT",
                        Integer.toString(FreePort.next()));
        try (Rendezvous meeting =
                Rendezvous.join(
                        "env://?world_size=1", OptionalInt.of(0), NONE, TIMEOUT, variables)) {
            assertThat(meeting.membership().worldSize()).isEqualTo(1);
        }
    }

    @Test
    void anArgumentThatContradictsTheEnvironmentIsRefused() {
        assertThatThrownBy(
                        () ->
                                Rendezvous.join(
                                        "env://", OptionalInt.of(1), NONE, TIMEOUT, plain(0, "1")))
                .isInstanceOf(BootstrapException.class)
                .hasMessageContaining("rank 1 contradicts")
                .hasMessageContaining("which gives 0");
    }

    @Test
    void anArgumentThatContradictsTheUrlIsRefused() {
        assertThatThrownBy(() -> join("tcp://h:1?rank=0&world_size=4", NONE, OptionalInt.of(2)))
                .isInstanceOf(BootstrapException.class)
                .hasMessageContaining("world size 2 contradicts")
                .hasMessageContaining("tcp://h:1?rank=0&world_size=4");
    }

    @Test
    void aLauncherWithoutAMasterIsExplained() {
        Map<String, String> variables =
                Map.of("OMPI_COMM_WORLD_RANK", "0", "OMPI_COMM_WORLD_SIZE", "2");
        assertThatThrownBy(() -> Rendezvous.join("env://", NONE, NONE, TIMEOUT, variables))
                .isInstanceOf(BootstrapException.class)
                .hasMessageContaining("Open MPI")
                .hasMessageContaining("MASTER_ADDR is not set")
                .hasMessageContaining("MASTER_PORT is not set");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "http://h:1 | the scheme 'http' is unknown",
                "h | it is not a URL",
                "tcp://host?rank=0&world_size=1 | it needs a host and a port",
                "tcp://:1?rank=0&world_size=1 | it needs a host and a port",
                "tcp://host:?rank=0&world_size=1 | it needs a host and a port",
                "tcp://[::1]?rank=0&world_size=1 | it needs a host and a port",
                "tcp://host:65536?rank=0&world_size=1 | the port 65536 must be a number from 0",
                "tcp://host:x?rank=0&world_size=1 | the port x must be a number from 0",
                "tcp://host:-1?rank=0&world_size=1 | the port -1 must be a number from 0",
                "tcp://host:1?world_size=1 | the rank is missing",
                "tcp://host:1?rank=0 | the world size is missing",
                "tcp://host:1 | the rank is missing, and the world size as well",
                "tcp://host:1?rank=a&world_size=1 | rank=a must be a number of 0 or more",
                "tcp://host:1?rank=0&world_size=0 | world_size=0 must be a number of 1 or more",
                "tcp://host:1?rank=0&world_size | the parameter 'world_size' has no value",
                "tcp://host:1?rank=0&worldsize=1 | the world size is missing",
                "tcp://::1:7?rank=0&world_size=1 | an IPv6 address needs brackets",
                "tcp://host:0?rank=1&world_size=2 | port 0 cannot be used",
                "file://?rank=0&world_size=1 | it needs an absolute path",
                "file:///?rank=0&world_size=1 | it names no file",
                "file:///path?world_size=1 | the rank is missing"
            })
    void aBadInitMethodIsExplained(String method, String explanation) {
        assertThatThrownBy(() -> join(method, NONE, NONE))
                .isInstanceOf(BootstrapException.class)
                .hasMessageContaining(explanation)
                .hasMessageContaining(method);
    }

    @Test
    void ipv6AndUnderscoresAreHosts() {
        assertThat(InitMethod.parse("tcp://[fe80::1]:7?rank=0").host()).isEqualTo("fe80::1");
        assertThat(InitMethod.parse("tcp://my_node:7").host()).isEqualTo("my_node");
    }

    @Test
    void aRankOutsideTheWorldIsRefused() {
        assertThatThrownBy(() -> join("tcp://127.0.0.1:1?rank=2&world_size=2", NONE, NONE))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("rank 2 of world size 2");
    }

    @Test
    void nullsAreRefused() {
        assertThatThrownBy(() -> join(null, NONE, NONE)).isInstanceOf(UsageException.class);
        assertThatThrownBy(() -> Rendezvous.over(null, NONE, NONE))
                .isInstanceOf(UsageException.class);
    }

    @Test
    @Execution(ExecutionMode.CONCURRENT)
    void anUnknownHostFailsWithItsName() {
        for (int rank = 0; rank < 2; rank++) {
            String method = "tcp://no-such-host.invalid:29500?world_size=2&rank=" + rank;
            assertThatThrownBy(
                            () ->
                                    Rendezvous.join(
                                            method,
                                            NONE,
                                            NONE,
                                            expires(Duration.ofSeconds(2)),
                                            Map.of()))
                    .isInstanceOf(BootstrapException.class)
                    .hasMessageContaining("cannot be found")
                    .hasMessageContaining("no-such-host.invalid")
                    .hasMessageContaining("29500")
                    .hasMessageContaining("MASTER_ADDR");
        }
    }

    @Test
    void aPortThatIsTakenIsNamedWithTheCause() {
        try (TcpStoreServer first = TcpStoreServer.bind(new InetSocketAddress("127.0.0.1", 0))) {
            String method = "tcp://127.0.0.1:" + first.port() + "?rank=0&world_size=1";
            assertThatThrownBy(() -> join(method, NONE, NONE))
                    .isInstanceOf(BootstrapException.class)
                    .hasMessageContaining("127.0.0.1:" + first.port())
                    .hasMessageContaining("in use")
                    .hasCauseInstanceOf(StoreException.class);
        }
    }

    @Test
    void rankZeroSaysHowManyCameInTime() throws Exception {
        String method = "tcp://127.0.0.1:" + FreePort.next() + "?rank=0&world_size=2";
        assertThatThrownBy(
                        () ->
                                Rendezvous.join(
                                        method,
                                        NONE,
                                        NONE,
                                        expires(Duration.ofMillis(300)),
                                        Map.of()))
                .isInstanceOf(StoreException.class)
                .hasMessageContaining("1/2");
    }

    @Test
    void nobodyServing() throws Exception {
        String method = "tcp://127.0.0.1:" + FreePort.next() + "?rank=1&world_size=2";
        assertThatThrownBy(
                        () ->
                                Rendezvous.join(
                                        method,
                                        NONE,
                                        NONE,
                                        expires(Duration.ofMillis(300)),
                                        Map.of()))
                .isInstanceOf(JcclException.class)
                .hasMessageContaining("127.0.0.1");
    }

    @Test
    void aStoreOfTheProgramStaysOpen() {
        try (Store store = HashStore.create(TIMEOUT)) {
            Rendezvous meeting = Rendezvous.over(store, OptionalInt.of(1), OptionalInt.of(2));
            assertThat(meeting.membership().rank()).isEqualTo(1);
            assertThat(meeting.store()).isSameAs(store);
            meeting.close();
            store.set("k", new byte[] {1});
            assertThat(store.get("k")).containsExactly(1);
            assertThatThrownBy(() -> Rendezvous.over(store, OptionalInt.of(1), NONE))
                    .isInstanceOf(BootstrapException.class)
                    .hasMessageContaining("the world size is missing");
        }
    }

    @Test
    void rankZeroNamesThoseWhoDidNotCome() {
        assertThatThrownBy(
                        () ->
                                Rendezvous.join(
                                        "tcp://127.0.0.1:" + FreePort.next(),
                                        OptionalInt.of(0),
                                        OptionalInt.of(3),
                                        expires(Duration.ofMillis(200)),
                                        Map.of()))
                .isInstanceOf(StoreTimeoutException.class)
                .hasMessageContaining("1/3 clients joined")
                .hasMessageContaining("Missing: ranks [1, 2]");
    }
}
