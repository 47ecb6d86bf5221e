package org.jccl.launch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import org.jccl.BootstrapException;
import org.jccl.Store;
import org.jccl.StoreException;
import org.jccl.UsageException;
import org.jccl.bootstrap.Rendezvous;
import org.jccl.internal.rendezvous.TimeLimit;
import org.jccl.launch.ElasticRecords.Launcher;
import org.jccl.launch.ElasticRecords.Outcome;
import org.jccl.launch.ElasticRecords.State;
import org.jccl.store.TcpStore;
import org.jccl.store.TcpStoreServer;
import org.jccl.testing.FreePort;
import org.jccl.testing.LaunchedRank;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Elastic jobs, of launchers in this JVM and, where one is to be killed, in another. */
@Timeout(120)
@Execution(ExecutionMode.CONCURRENT)
@Tag("all")
class ElasticJobTest {

    private static final Duration WAIT = Duration.ofSeconds(60);

    private final List<String> lines = new CopyOnWriteArrayList<>();

    private static ElasticNodes nodes(int min, int max, String... endpoints) {
        return ElasticNodes.of(min, max, endpoints)
                .withWaiting(WAIT, Duration.ofSeconds(1))
                .withKeepAlive(Duration.ofMillis(500), 20);
    }

    private static String endpoint(int port) {
        return "127.0.0.1:" + port;
    }

    private ProcessLauncherBuilder launcher(ElasticNodes nodes) {
        return ProcessLauncher.builder(2)
                .elastic(nodes)
                .runId("elastic")
                .timeout(Duration.ofSeconds(100))
                .output((rank, error, line) -> lines.add("[" + rank + "] " + line));
    }

    private ProcessLauncherBuilder launcher(ElasticNodes nodes, String script) {
        return launcher(nodes).command(List.of("bash", "-c", script));
    }

    private static CompletableFuture<Void> start(ProcessLauncherBuilder builder) {
        ProcessLauncher launcher = builder.build();
        return CompletableFuture.runAsync(launcher::run, task -> new Thread(task).start());
    }

    private static LaunchException failureOf(CompletableFuture<Void> job) {
        CompletionException failure = catchThrowableOfType(CompletionException.class, job::join);
        assertThat(failure).hasCauseInstanceOf(LaunchException.class);
        return (LaunchException) failure.getCause();
    }

    /** Waits until a launcher serves the job's store, so that one that comes later does not. */
    private static void awaitStore(int port) {
        TcpStore.connect("127.0.0.1", port, WAIT).close();
    }

    private void awaitLine(String line) throws InterruptedException {
        while (!lines.contains(line)) {
            TimeUnit.MILLISECONDS.sleep(20);
        }
    }

    /** Waits until ranks have made a file; a job that ends before that says why. */
    private static void awaitFile(Path file, CompletableFuture<Void> job) throws Exception {
        while (Files.notExists(file)) {
            if (job.isDone()) {
                job.join();
                throw new AssertionError("the job ended well, and no rank made " + file);
            }
            TimeUnit.MILLISECONDS.sleep(50);
        }
    }

    /** A rank that meets the others over the round's store. */
    static final class Meet {
        private Meet() {}

        public static void main(String[] arguments) {
            try (Rendezvous world = LaunchedRank.join()) {
                long sum = world.store().add("sum", world.membership().rank() + 1L);
                if (world.store().add("ranks", 1) == world.membership().worldSize()) {
                    System.out.println("sum " + world.store().add("sum", 0));
                }
                assertThat(sum).isPositive();
            }
        }
    }

    @Test
    void launchersNeedNoRanksOfTheirOwn() throws Exception {
        ElasticNodes two = nodes(2, 2, endpoint(FreePort.next()));
        CompletableFuture<Void> first = start(launcher(two).mainClass(Meet.class));
        CompletableFuture<Void> second = start(launcher(two).mainClass(Meet.class));
        first.join();
        second.join();
        assertThat(lines).anyMatch(line -> line.endsWith("sum 10"));
    }

    @Test
    void aNodeThatComesIsTakenIn() throws Exception {
        ElasticNodes upToTwo = nodes(1, 2, endpoint(FreePort.next()));
        String script =
                "echo $RANK of $WORLD_SIZE attempt $JCCL_ATTEMPT restart"
                        + " $TORCHELASTIC_RESTART_COUNT; [ $WORLD_SIZE = 4 ] || sleep 100";
        CompletableFuture<Void> first = start(launcher(upToTwo, script));
        awaitLine("[1] 1 of 2 attempt 0 restart 0");
        CompletableFuture<Void> second = start(launcher(upToTwo, script));
        first.join();
        second.join();
        assertThat(lines)
                .contains("[0] 0 of 4 attempt 1 restart 0", "[3] 3 of 4 attempt 1 restart 0");
    }

    @Test
    void aRankThatFailsHasAllStartedAgain() throws Exception {
        ElasticNodes two = nodes(2, 2, endpoint(FreePort.next()));
        String script =
                "echo try $TORCHELASTIC_RESTART_COUNT of $TORCHELASTIC_MAX_RESTARTS;"
                        + " [ $TORCHELASTIC_RESTART_COUNT = 0 ] && [ $RANK = 3 ] && exit 6;"
                        + " [ $TORCHELASTIC_RESTART_COUNT = 0 ] && sleep 100; exit 0";
        CompletableFuture<Void> first = start(launcher(two, script).maxRestarts(1));
        CompletableFuture<Void> second = start(launcher(two, script).maxRestarts(1));
        first.join();
        second.join();
        assertThat(lines)
                .contains("[0] try 1 of 1", "[1] try 1 of 1", "[2] try 1 of 1", "[3] try 1 of 1");
    }

    @Test
    void restartsAreNotEndless() throws Exception {
        ElasticNodes two = nodes(2, 2, endpoint(FreePort.next()));
        String script = "[ $RANK = 3 ] && exit 6; sleep 100";
        CompletableFuture<Void> first = start(launcher(two, script).maxRestarts(1));
        CompletableFuture<Void> second = start(launcher(two, script).maxRestarts(1));
        List<LaunchException> failures = List.of(failureOf(first), failureOf(second));
        assertThat(failures)
                .allSatisfy(failure -> assertThat(failure.exitCode()).isEqualTo(6))
                .anySatisfy(
                        failure ->
                                assertThat(failure)
                                        .hasMessageContaining("rank 3")
                                        .hasMessageContaining("no restart is left of 1"))
                .anySatisfy(failure -> assertThat(failure.failures()).hasSize(1));
    }

    @Test
    void whatEndsTheJobIsToldAndNotAnEarlierFailure() throws Exception {
        ElasticNodes two = nodes(2, 2, endpoint(FreePort.next()));
        String script =
                "[ $TORCHELASTIC_RESTART_COUNT = 0 ] && [ $RANK = 0 ] && exit 6;"
                        + " [ $TORCHELASTIC_RESTART_COUNT = 1 ] && [ $RANK = 3 ] && exit 64;"
                        + " sleep 100";
        CompletableFuture<Void> first = start(launcher(two, script).maxRestarts(3));
        CompletableFuture<Void> second = start(launcher(two, script).maxRestarts(3));
        for (CompletableFuture<Void> each : List.of(first, second)) {
            LaunchException failure = failureOf(each);
            assertThat(failure.exitCode()).isEqualTo(64);
            assertThat(failure).hasMessageContaining("rank 3");
        }
    }

    @Test
    void aRankThatWouldFailAgainEndsTheJob() throws Exception {
        ElasticNodes one = nodes(1, 1, endpoint(FreePort.next()));
        String script = "echo started; [ $RANK = 1 ] && exit 64; sleep 100";
        LaunchException failure = failureOf(start(launcher(one, script).maxRestarts(5)));
        assertThat(failure.exitCode()).isEqualTo(64);
        assertThat(lines).containsOnlyOnce("[1] started");
    }

    /** One whose groups the other's ranks have closed may only have taken that for wrong use. */
    @ParameterizedTest
    @CsvSource({"64, 6, true", "6, 64, true", "64, 64, false", "64, 75, false"})
    void aNodeThatWouldFailAgainIsHeardUnlessTheProgramOfAnotherFailed(
            int first, int second, boolean again) throws Exception {
        ElasticNodes two = nodes(2, 2, endpoint(FreePort.next()));
        Outcome other = new Outcome(second, second == 64, "the other failed");
        assertThat(startsAgain(two, first, 1, (node, round) -> node.ended(round, other)))
                .isEqualTo(again);
    }

    /** Its ranks may have closed their groups normally, which is no wrong use of the job. */
    @Test
    void aNodeThatWouldFailAgainIsNotHeardIfAnotherLeft() throws Exception {
        ElasticNodes upToTwo = nodes(1, 2, endpoint(FreePort.next()));
        assertThat(startsAgain(upToTwo, 64, 0, (other, round) -> other.leave())).isTrue();
    }

    /** Whether a job starts again when the ranks of a launcher and then another one end. */
    private static boolean startsAgain(
            ElasticNodes nodes, int code, int restarts, BiConsumer<ElasticMember, State> other) {
        TimeLimit limit = TimeLimit.in(WAIT);
        try (ElasticStore store = ElasticStore.open(nodes, Optional.empty(), limit);
                ElasticCoordinator coordinator =
                        new ElasticCoordinator(store, nodes, "elastic", "job", restarts)) {
            coordinator.start();
            try (ElasticMember one = join(store.client());
                    TcpStore client = store.client().duplicate(WAIT);
                    ElasticMember two = join(client)) {
                State round = one.awaitRound(0, limit);
                one.ended(round, new Outcome(code, code == 64, "one failed"));
                other.accept(two, round);
                one.awaitOver(round, limit);
                one.stopped(round);
                two.stopped(round);
                return one.awaitRound(1, limit).isRunning();
            }
        }
    }

    private static ElasticMember join(TcpStore client) {
        Launcher self = new Launcher("host", 0, 0, false, Outcome.unknown(""));
        return ElasticMember.join(client, "elastic", "job", self, Duration.ofMillis(50));
    }

    /** The coordinator may end a round before a launcher that is in it has looked. */
    @Test
    void aLauncherThatMissedItsRoundIsInTheNextOne() throws Exception {
        ElasticNodes two = nodes(2, 2, endpoint(FreePort.next()));
        TimeLimit limit = TimeLimit.in(Duration.ofSeconds(30));
        try (ElasticStore store = ElasticStore.open(two, Optional.empty(), limit);
                ElasticCoordinator coordinator =
                        new ElasticCoordinator(store, two, "elastic", "job", 1)) {
            coordinator.start();
            try (ElasticMember one = join(store.client());
                    TcpStore client = store.client().duplicate(WAIT);
                    ElasticMember slow = join(client)) {
                State round = one.awaitRound(0, limit);
                one.ended(round, new Outcome(6, false, "one failed"));
                one.awaitOver(round, limit);
                one.stopped(round);
                assertThat(slow.awaitRound(0, limit).attempt()).isEqualTo(1);
            }
        }
    }

    @Test
    void tooFewNodesAreNotWaitedForEndlessly() throws Exception {
        ElasticNodes two =
                nodes(2, 2, endpoint(FreePort.next()))
                        .withWaiting(Duration.ofSeconds(1), Duration.ofSeconds(1));
        assertThat(failureOf(start(launcher(two, "true"))))
                .hasMessageContaining("1 of at least 2 nodes came within 1 s");
    }

    @Test
    void launchersThatDisagreeAreRefused() throws Exception {
        int port = FreePort.next();
        ElasticNodes two = nodes(2, 2, endpoint(port));
        CompletableFuture<Void> first = start(launcher(two, "true"));
        awaitStore(port);
        ProcessLauncher other = launcher(two, "true").maxRestarts(3).build();
        assertThatThrownBy(other::run)
                .isInstanceOf(BootstrapException.class)
                .hasMessageContaining("3 restarts")
                .hasMessageContaining("0 restarts")
                .hasMessageContaining("--max-restarts");
        launcher(two, "true").build().run();
        first.join();
    }

    @Test
    void anotherRunsStoreIsNotTakenForThisOnes() throws Exception {
        int port = FreePort.next();
        ElasticNodes two = nodes(2, 2, endpoint(port));
        CompletableFuture<Void> first = start(launcher(two, "true"));
        awaitStore(port);
        assertThatThrownBy(launcher(two, "true").runId("other").build()::run)
                .isInstanceOf(BootstrapException.class)
                .hasMessageContaining("not that of run 'other'")
                .hasMessageContaining("--rdzv-id");
        launcher(two, "true").build().run();
        first.join();
    }

    /** Its end must not be taken for that of the job that begins. */
    @Test
    void theStoreOfAJobThatHasEndedIsNotJoined() throws Exception {
        CompletableFuture<Void> job;
        try (TcpStoreServer last =
                        TcpStoreServer.bind(new InetSocketAddress("127.0.0.1", FreePort.next()));
                TcpStore client = TcpStore.connect("127.0.0.1", last.port(), WAIT)) {
            Store records = ElasticRecords.of(client, "elastic");
            State ended = new State(0, 0, List.of(), Outcome.WELL);
            records.set(ElasticRecords.STATE, ended.encode());
            records.set(ElasticRecords.JOB, StoredText.bytes("another job"));
            long before = last.requests();
            job = start(launcher(nodes(1, 1, endpoint(last.port())), "echo ran"));
            while (!job.isDone() && last.requests() < before + 20) {
                TimeUnit.MILLISECONDS.sleep(20);
            }
        }
        job.join();
        assertThat(lines).containsExactlyInAnyOrder("[0] ran", "[1] ran");
    }

    /** The others take it for lost, so it has to come again. */
    @Test
    void aLauncherThatCanNotSayThatItIsAliveDoesNotWaitForTheOthers() {
        try (TcpStoreServer server = TcpStoreServer.bind(new InetSocketAddress("127.0.0.1", 0));
                TcpStore client = TcpStore.connect("127.0.0.1", server.port(), WAIT)) {
            Store records = ElasticRecords.of(client, "elastic");
            State round = new State(0, 0, List.of(1), Outcome.unknown(""));
            records.set(ElasticRecords.STATE, round.encode());
            records.set(ElasticRecords.JOB, StoredText.bytes("job"));
            records.set(ElasticRecords.beat(1), StoredText.bytes("no number"));
            try (ElasticMember member = join(client)) {
                TimeLimit limit = TimeLimit.in(Duration.ofSeconds(30));
                assertThatThrownBy(() -> member.awaitRound(1, limit))
                        .isInstanceOf(StoreException.class)
                        .hasMessageContaining("can not send heartbeats any more");
                assertThatThrownBy(() -> member.awaitRanksStore(round))
                        .isInstanceOf(StoreException.class);
                assertThatThrownBy(() -> member.reasonToStop(round))
                        .isInstanceOf(StoreException.class);
            }
        }
    }

    /** A launcher in a JVM of its own, which can be killed. */
    static final class LauncherMain {
        private LauncherMain() {}

        public static void main(String[] arguments) {
            new ElasticJobTest()
                    .launcher(nodes(1, 2, arguments[0].split(",")), arguments[1])
                    .maxRestarts(Integer.parseInt(arguments[2]))
                    .build()
                    .run();
        }
    }

    private static Process launcherProcess(String endpoints, String script, int restarts)
            throws IOException {
        return new ProcessBuilder(
                        JavaCommand.ownExecutable().toString(),
                        "-cp",
                        JavaCommand.ownClassPath(),
                        LauncherMain.class.getName(),
                        endpoints,
                        script,
                        Integer.toString(restarts))
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .start();
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aLostLauncherIsNotWaitedFor(boolean servesTheStore, @TempDir Path folder)
            throws Exception {
        int port = FreePort.next();
        String endpoints = endpoint(port) + "," + endpoint(FreePort.next());
        Path together = folder.resolve("together");
        // Alone, the ranks end once they have been together; ranks of a lost launcher are lost too.
        String script =
                "echo $RANK of $WORLD_SIZE; [ $WORLD_SIZE = 4 ] && touch "
                        + together
                        + " && sleep 100; while [ ! -e "
                        + together
                        + " ]; do sleep 0.1; done";
        ElasticNodes nodes = nodes(1, 2, endpoints.split(","));
        CompletableFuture<Void> survivor;
        Process lost;
        if (servesTheStore) {
            lost = launcherProcess(endpoints, script, 3);
            awaitStore(port);
            survivor = start(launcher(nodes, script).maxRestarts(3));
        } else {
            survivor = start(launcher(nodes, script).maxRestarts(3));
            awaitLine("[1] 1 of 2");
            lost = launcherProcess(endpoints, script, 3);
        }
        try {
            awaitFile(together, survivor);
        } finally {
            lost.destroyForcibly();
        }
        survivor.join();
        assertThat(lines.get(lines.size() - 1)).matches("\\[[01]\\] [01] of 2");
    }

    @Test
    void aLauncherThatIsToldToStopLeavesWithoutARestart(@TempDir Path folder) throws Exception {
        Path together = folder.resolve("together");
        String script =
                "echo $RANK of $WORLD_SIZE restart $TORCHELASTIC_RESTART_COUNT;"
                        + " [ $WORLD_SIZE = 4 ] && touch "
                        + together
                        + " && sleep 100; while [ ! -e "
                        + together
                        + " ]; do sleep 0.1; done";
        String endpoint = endpoint(FreePort.next());
        CompletableFuture<Void> stays = start(launcher(nodes(1, 2, endpoint), script));
        awaitLine("[1] 1 of 2 restart 0");
        lines.clear();
        Process leaves = launcherProcess(endpoint, script, 0);
        try {
            awaitFile(together, stays);
            leaves.destroy();
            stays.join();
        } finally {
            leaves.destroyForcibly();
        }
        assertThat(lines).contains("[0] 0 of 2 restart 0");
    }

    @Test
    void badOptionsAreRefused() {
        assertThatThrownBy(() -> ElasticNodes.of(0, 1, "a")).isInstanceOf(UsageException.class);
        assertThatThrownBy(() -> ElasticNodes.of(2, 1, "a")).isInstanceOf(UsageException.class);
        assertThatThrownBy(() -> ElasticNodes.of(1, 1)).isInstanceOf(UsageException.class);
        assertThatThrownBy(() -> ElasticNodes.of(1, 1, "a", "a:29400"))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("twice");
        assertThatThrownBy(() -> ElasticNodes.of(1, 1, "a:0")).isInstanceOf(UsageException.class);
        assertThatThrownBy(() -> ElasticNodes.of(1, 1, "a:b")).isInstanceOf(UsageException.class);
        assertThatThrownBy(() -> ElasticNodes.of(1, 1, "::1")).isInstanceOf(UsageException.class);
        assertThat(ElasticNodes.of(1, 1, "[::1]", "b:7").endpoints())
                .containsExactly("[::1]:29400", "b:7");
        ElasticNodes good = ElasticNodes.of(1, 2, "a");
        assertThatThrownBy(() -> good.withKeepAlive(Duration.ZERO, 1))
                .isInstanceOf(UsageException.class);
        assertThatThrownBy(() -> good.withKeepAlive(WAIT, 0)).isInstanceOf(UsageException.class);
        assertThatThrownBy(() -> good.withWaiting(Duration.ZERO, WAIT))
                .isInstanceOf(UsageException.class);
        assertThatThrownBy(() -> good.withWaiting(WAIT, Duration.ofSeconds(-1)))
                .isInstanceOf(UsageException.class);
        assertThatThrownBy(() -> launcher(good, "true").nodes(2, 0).build())
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("elastic");
    }
}
