package org.jccl.launch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.assertj.core.api.Assertions.tuple;
import static org.jccl.testing.Patience.enough;
import static org.jccl.testing.Patience.expires;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.jccl.UsageException;
import org.jccl.bootstrap.Rendezvous;
import org.jccl.testing.FreePort;
import org.jccl.testing.LaunchedRank;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ProcessLauncherTest {

    private static final Duration LIMIT = enough(Duration.ofSeconds(90));

    private final Queue<String> lines = new ConcurrentLinkedQueue<>();

    private ProcessLauncherBuilder ranks(int n) {
        return ProcessLauncher.builder(n)
                .timeout(LIMIT)
                .output(
                        (rank, error, line) ->
                                lines.add("[" + rank + "]" + (error ? "! " : " ") + line));
    }

    private ProcessLauncherBuilder shell(int n, String script) {
        return ranks(n).command(List.of("bash", "-c", script));
    }

    private static LaunchException failureOf(ProcessLauncher launcher) {
        return catchThrowableOfType(LaunchException.class, launcher::run);
    }

    /** Meets the other ranks over the launcher's store, and prints what it read there. */
    static final class Meet {
        private Meet() {}

        public static void main(String[] arguments) {
            try (Rendezvous meeting = LaunchedRank.join()) {
                int worldSize = meeting.membership().worldSize();
                long sum = meeting.store().add("sum", meeting.membership().rank() + 1);
                meeting.store().barrier("all added", worldSize, LaunchedRank.TIMEOUT);
                sum = meeting.store().add("sum", 0);
                System.out.println(arguments[0] + " " + sum);
            }
        }
    }

    /** Rank 1 ends with code 3; the others would sleep for ever. */
    static final class FailInRankOne {
        private FailInRankOne() {}

        public static void main(String[] arguments) throws InterruptedException {
            if (System.getenv("RANK").equals("1")) {
                System.err.println("the disk is full");
                System.exit(3);
            }
            new CountDownLatch(1).await();
        }
    }

    @Test
    void ranksMeetOverTheLaunchersStore() {
        ranks(3).mainClass(Meet.class, "sum is").build().run();
        assertThat(lines).contains("[0] sum is 6", "[1] sum is 6", "[2] sum is 6");
    }

    @Test
    void eachRolesRanksFollowEachOther() {
        String say = "echo $ROLE_NAME $ROLE_RANK of $ROLE_WORLD_SIZE, $RANK of $WORLD_SIZE";
        shell(2, say).role("a").addRole("b", 1, List.of("bash", "-c", say)).build().run();
        assertThat(lines)
                .containsExactlyInAnyOrder(
                        "[0] a 0 of 2, 0 of 3", "[1] a 1 of 2, 1 of 3", "[2] b 0 of 1, 2 of 3");
    }

    @Test
    void eachRolesRanksFollowEachOtherOverNodes() {
        List<LaunchRole> roles =
                List.of(
                        new LaunchRole("a", 2, List.of("true")),
                        new LaunchRole("b", 1, List.of("true")));
        assertThat(RankPlacement.of(roles, 2, 0))
                .extracting(RankPlacement::rank, RankPlacement::localRank, RankPlacement::roleRank)
                .containsExactly(tuple(0, 0, 0), tuple(1, 1, 1), tuple(4, 2, 0));
        assertThat(RankPlacement.of(roles, 2, 1))
                .extracting(RankPlacement::rank, RankPlacement::localRank, RankPlacement::roleRank)
                .containsExactly(tuple(2, 0, 2), tuple(3, 1, 3), tuple(5, 2, 1));
    }

    @Test
    void rolesAreToldApart() {
        ProcessLauncherBuilder builder = shell(1, "true").addRole("default", 1, List.of("true"));
        assertThatThrownBy(builder::build)
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("two roles have the same name: [default, default]");
    }

    @Test
    void spawnPrintsBehindTheRank() {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        PrintStream stream = new PrintStream(out, true, StandardCharsets.UTF_8);
        OutputHandler handler = OutputHandler.prefixed(stream, stream);
        shell(2, "echo héllo; echo oh >&2").output(handler).build().run();
        assertThat(out.toString(StandardCharsets.UTF_8).lines())
                .containsExactlyInAnyOrder("[0] héllo", "[0] oh", "[1] héllo", "[1] oh");
    }

    /** A rank whose lines nobody takes any more would end with SIGPIPE, or block. */
    @Test
    void aHandlerThatFailsGetsTheNextLine() {
        shell(1, "for i in 1 2 3; do echo $i; sleep 0.1; done")
                .output(
                        (rank, error, line) -> {
                            lines.add(line);
                            throw new AssertionError("by intent");
                        })
                .build()
                .run();
        assertThat(lines).containsExactly("1", "2", "3");
    }

    @Test
    void spawnRunsAMain() {
        ProcessLauncher.spawn(1, Meet.class, "spawned");
        assertThatThrownBy(() -> ProcessLauncher.spawn(2, FailInRankOne.class))
                .isInstanceOf(LaunchException.class);
    }

    @Test
    void aRankThatFailsStopsTheOthersAndIsExplained() {
        LaunchException failure = failureOf(ranks(3).mainClass(FailInRankOne.class).build());
        assertThat(failure)
                .hasMessageContaining("rank 1 on ")
                .hasMessageContaining("exited with code 3")
                .hasMessageContaining("| the disk is full")
                .hasMessageContaining("the other ranks of this node were stopped");
        assertThat(failure.exitCode()).isEqualTo(3);
        assertThat(failure.failures()).hasSize(1);
        assertThat(failure.failures().get(0).rank()).isEqualTo(1);
        assertThat(failure.failures().get(0).signal()).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({"KILL, SIGKILL, 137", "SEGV, SIGSEGV, 139", "TERM, SIGTERM, 143"})
    void aSignalIsNamed(String signal, String name, int code) {
        LaunchException failure =
                failureOf(shell(2, "[ $RANK = 0 ] && kill -" + signal + " $$; sleep 100").build());
        assertThat(failure).hasMessageContaining("rank 0").hasMessageContaining(name);
        assertThat(failure.failures().get(0).signal()).contains(name);
        assertThat(failure.exitCode()).isEqualTo(code);
    }

    @Test
    void aCrashedJvmsReportIsNamed(@TempDir Path logs) {
        LaunchException failure =
                failureOf(
                        ranks(1).mainClass(FailInRankOne.class)
                                .logs(logs, OutputStreams.BOTH, OutputStreams.NONE)
                                .command(
                                        List.of(
                                                "bash",
                                                "-c",
                                                "echo '# /var/tmp/hs_err_pid77.log'; kill -ABRT $$"))
                                .build());
        assertThat(failure.failures().get(0).crashReport())
                .contains(Path.of("/var/tmp/hs_err_pid77.log"));
        assertThat(failure).hasMessageContaining("/var/tmp/hs_err_pid77.log");
    }

    /**
     * Java cannot represent each path: one with a zero byte, or with {@code LC_ALL=C} one of UTF-8.
     */
    @Test
    void aReportWhoseNameIsNoPathDoesNotEndTheReadingOfOutput() {
        LaunchException failure =
                failureOf(
                        shell(1, "printf '# /var\\0/hs_err_pid77.log\\n'; echo later; exit 3")
                                .build());
        assertThat(failure.failures().get(0).crashReport()).isEmpty();
        assertThat(failure).hasMessageContaining("later");
    }

    @Test
    void aRealCrashLeavesItsReportInTheLogs(@TempDir Path logs) {
        LaunchException failure =
                failureOf(
                        ranks(1).mainClass(CrashItself.class)
                                .logs(logs, OutputStreams.NONE, OutputStreams.NONE)
                                .build());
        assertThat(failure.failures().get(0).signal()).contains("SIGABRT");
        assertThat(failure.failures().get(0).crashReport())
                .hasValueSatisfying(report -> assertThat(report).exists().hasParent(logs));
    }

    /** A segmentation fault from outside is a crash to the JVM. */
    static final class CrashItself {
        private CrashItself() {}

        public static void main(String[] arguments) throws Exception {
            // The shell's own, since a small system may have no other.
            String kill = "kill -SEGV " + ProcessHandle.current().pid();
            new ProcessBuilder("sh", "-c", kill).start().waitFor();
            new CountDownLatch(1).await();
        }
    }

    @Test
    void aJobThatTakesTooLongIsStopped() {
        LaunchException failure =
                failureOf(
                        shell(2, "trap '' TERM; [ $RANK = 0 ] || sleep 100; exit 0")
                                .timeout(expires(Duration.ofSeconds(2)))
                                .grace(expires(Duration.ofMillis(200)))
                                .build());
        assertThat(failure).hasMessageContaining("ranks [1] were still running after 2 s");
        assertThat(failure.exitCode()).isEqualTo(124);
        assertThat(failure.failures()).isEmpty();
    }

    @Test
    void grandchildrenAreStoppedToo(@TempDir Path folder) throws Exception {
        Path pid = folder.resolve("pid");
        String script =
                "if [ $RANK = 0 ]; then sleep 100 & echo $! > "
                        + pid
                        + ".new; mv "
                        + pid
                        + ".new "
                        + pid
                        + "; wait; else until [ -e "
                        + pid
                        + " ]; do sleep 0.05; done; exit 9; fi";
        assertThat(failureOf(shell(2, script).build()).exitCode()).isEqualTo(9);
        long grandchild = Long.parseLong(Files.readString(pid).strip());
        ProcessHandle.of(grandchild)
                .ifPresent(handle -> handle.onExit().orTimeout(30, TimeUnit.SECONDS).join());
    }

    @Test
    void anInterruptedLauncherStopsItsRanks() throws Exception {
        CountDownLatch started = new CountDownLatch(1);
        CompletableFuture<LaunchException> result = new CompletableFuture<>();
        CompletableFuture<Boolean> flag = new CompletableFuture<>();
        ProcessLauncher launcher =
                shell(1, "echo up; sleep 100")
                        .output((rank, error, line) -> started.countDown())
                        .build();
        Thread thread =
                new Thread(
                        () -> {
                            result.complete(failureOf(launcher));
                            flag.complete(Thread.currentThread().isInterrupted());
                        });
        thread.start();
        started.await();
        thread.interrupt();
        assertThat(result.get(60, TimeUnit.SECONDS)).hasMessageContaining("interrupted");
        assertThat(flag.get(60, TimeUnit.SECONDS)).isTrue();
    }

    /** A launcher whose rank says its process id and then sleeps. */
    static final class LaunchSleeper {
        private LaunchSleeper() {}

        public static void main(String[] arguments) {
            ProcessLauncher.builder(1)
                    .command(List.of("bash", "-c", "echo $$; exec sleep 100"))
                    .build()
                    .run();
        }
    }

    @Test
    void ranksEndWithTheJvmThatStartedThem() throws Exception {
        List<String> command =
                JavaCommand.ofClass(
                        JavaCommand.ownExecutable(),
                        List.of(),
                        JavaCommand.ownClassPath(),
                        LaunchSleeper.class.getName(),
                        List.of());
        Process launcher =
                new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.DISCARD).start();
        try {
            String line = launcher.inputReader().readLine();
            ProcessHandle rank =
                    ProcessHandle.of(Long.parseLong(line.replace("[0] ", ""))).orElseThrow();
            launcher.destroy();
            rank.onExit().get(60, TimeUnit.SECONDS);
        } finally {
            launcher.destroyForcibly();
        }
    }

    @Test
    void ranksGetTorchrunsVariables() {
        shell(
                        2,
                        "echo $JCCL_RUN_ID $WORLD_SIZE $LOCAL_RANK $LOCAL_WORLD_SIZE $GROUP_RANK"
                                + " $GROUP_WORLD_SIZE $ROLE_RANK $ROLE_WORLD_SIZE $ROLE_NAME"
                                + " $MASTER_ADDR $TORCHELASTIC_RUN_ID $TORCHELASTIC_RESTART_COUNT"
                                + " $TORCHELASTIC_MAX_RESTARTS $TORCHELASTIC_USE_AGENT_STORE $EXTRA")
                .runId("job7")
                .environment("EXTRA", "more")
                .build()
                .run();
        assertThat(lines)
                .containsExactlyInAnyOrder(
                        "[0] job7 2 0 2 0 1 0 2 default 127.0.0.1 job7 0 0 True more",
                        "[1] job7 2 1 2 0 1 1 2 default 127.0.0.1 job7 0 0 True more");
    }

    @Test
    void aFailedJobIsStartedAgainWithAnEmptyStore() {
        ranks(2).mainClass(SecondTry.class).maxRestarts(2).build().run();
        assertThat(lines)
                .contains("[0] attempt 0 sees 1", "[0] attempt 1 sees 1")
                .doesNotContain("[0] attempt 2 sees 1");
    }

    /** Counts its attempts in the store, and fails the first time. */
    static final class SecondTry {
        private SecondTry() {}

        public static void main(String[] arguments) {
            try (Rendezvous meeting = LaunchedRank.join()) {
                String attempt = System.getenv("TORCHELASTIC_RESTART_COUNT");
                String key = "rank " + meeting.membership().rank();
                System.out.println("attempt " + attempt + " sees " + meeting.store().add(key, 1));
                meeting.store().barrier("counted", 2, LaunchedRank.TIMEOUT);
                if (attempt.equals("0")) {
                    System.exit(4);
                }
            }
        }
    }

    /** Rank 0 misses rank 1, whose program failed and closed its groups on the way. */
    @Test
    void aProgramThatFailedIsStartedAgainAlthoughOthersTakeItForAUsageError() {
        shell(
                        2,
                        "[ $TORCHELASTIC_RESTART_COUNT = 1 ] && exit 0;"
                                + " [ $RANK = 0 ] && exit 64; sleep 0.3; exit 1")
                .maxRestarts(1)
                .build()
                .run();
    }

    @ParameterizedTest
    @ValueSource(strings = {"exit 0", "exit 75", "exit 64", "sleep 60"})
    void aUsageErrorIsNotStartedAgain(String otherRank) {
        LaunchException failure =
                failureOf(
                        shell(
                                        2,
                                        "echo $TORCHELASTIC_RESTART_COUNT; [ $RANK = 0 ] && exit"
                                                + " 64; sleep 0.1; "
                                                + otherRank)
                                .maxRestarts(1)
                                .build());
        assertThat(failure.exitCode()).isEqualTo(64);
        assertThat(lines).doesNotContain("[0] 1");
    }

    @Test
    void restartsAreNotEndless() {
        LaunchException failure =
                failureOf(
                        shell(1, "echo $TORCHELASTIC_RESTART_COUNT; exit 5")
                                .maxRestarts(2)
                                .build());
        assertThat(failure.exitCode()).isEqualTo(5);
        assertThat(lines).containsExactly("[0] 0", "[0] 1", "[0] 2");
    }

    @Test
    void logsAreKept(@TempDir Path folder) throws IOException {
        shell(2, "echo out; echo err >&2")
                .runId("r")
                .logs(folder, OutputStreams.STDOUT, OutputStreams.STDERR)
                .build()
                .run();
        Path first = folder.resolve("r").resolve("attempt_0").resolve("0");
        assertThat(first.resolve("stdout.log")).hasContent("out");
        assertThat(first.resolveSibling("1").resolve("stderr.log")).hasContent("err");
        assertThat(lines).containsExactlyInAnyOrder("[0] out", "[1] out");
    }

    @Test
    void survivorsMayBeKept() {
        shell(3, "[ $RANK = 1 ] && exit 7; sleep 0.5; echo $RANK goes on; [ $RANK = 0 ]")
                .keepSurvivors()
                .build()
                .run();
        assertThat(lines).containsExactlyInAnyOrder("[0] 0 goes on", "[2] 2 goes on");
        LaunchException failure = failureOf(shell(2, "exit $((7 + RANK))").keepSurvivors().build());
        assertThat(failure.failures())
                .extracting(RankFailure::exitCode)
                .containsExactlyInAnyOrder(7, 8);
        assertThatThrownBy(
                        () -> shell(1, "true").nodes(2, 0).master("h", 1).keepSurvivors().build())
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("replace lost ranks");
    }

    @Test
    void lostRanksAreReplaced(@TempDir Path folder) throws IOException {
        String script =
                "echo $RANK $TORCHELASTIC_RESTART_COUNT; [ $RANK = 1 ] || { sleep 2; exit 0; };"
                        + " [ -e FOLDER/again ] && { sleep 0.2; exit 0; }; touch FOLDER/again; exit 7";
        shell(2, script.replace("FOLDER", folder.toString()))
                .replaceLostRanks()
                .maxRestarts(2)
                .logs(folder.resolve("logs"), OutputStreams.BOTH, OutputStreams.NONE)
                .runId("run")
                .build()
                .run();
        assertThat(lines).containsExactlyInAnyOrder("[0] 0 0", "[1] 1 0", "[1] 1 0");
        Path attempt = folder.resolve("logs/run/attempt_0");
        assertThat(attempt.resolve("1").resolve("stdout.log")).exists();
        assertThat(attempt.resolve("1.1").resolve("stdout.log")).exists();
    }

    @Test
    void aRankIsReplacedAsOftenAsAllowed() {
        LaunchException failure =
                failureOf(
                        shell(2, "[ $RANK = 0 ] && sleep 30; echo again; exit 7")
                                .replaceLostRanks()
                                .maxRestarts(2)
                                .build());
        assertThat(failure.failures()).extracting(RankFailure::exitCode).containsExactly(7);
        assertThat(lines).filteredOn("[1] again"::equals).hasSize(3);
    }

    @Test
    void aRankThatWouldFailAgainIsNotReplaced() {
        LaunchException failure =
                failureOf(
                        shell(2, "[ $RANK = 0 ] && sleep 30; echo again; exit 64")
                                .replaceLostRanks()
                                .maxRestarts(2)
                                .build());
        assertThat(failure.failures()).extracting(RankFailure::exitCode).containsExactly(64);
        assertThat(lines).filteredOn("[1] again"::equals).hasSize(1);
    }

    @Test
    void afterARankHasEndedWellNobodyIsReplaced() {
        shell(2, "[ $RANK = 0 ] && exit 0; sleep 1; echo once; exit 7")
                .replaceLostRanks()
                .maxRestarts(2)
                .build()
                .run();
        assertThat(lines).containsExactly("[1] once");
    }

    /** The ranks that are left may all be on another node. */
    @Test
    void aJobThatHasEndedWellNeedsNoRanksOfANode() throws Exception {
        int port = FreePort.next();
        List<String> command =
                List.of("bash", "-c", "[ $RANK -lt 2 ] && exit 0; sleep 2; echo once; exit 7");
        CompletableFuture<Void> other =
                launch(node(1, port).command(command).replaceLostRanks().maxRestarts(2));
        node(0, port).command(command).replaceLostRanks().maxRestarts(2).build().run();
        other.get(60, TimeUnit.SECONDS);
        assertThat(lines).containsExactlyInAnyOrder("[2] once", "[3] once");
    }

    @Test
    void replacingNeedsANumber() {
        assertThatThrownBy(() -> shell(1, "true").replaceLostRanks().build())
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("give a number of restarts");
    }

    @Test
    void aCommandThatDoesNotExistIsExplained() {
        LaunchException failure = failureOf(ranks(2).command(List.of("no-such-program")).build());
        assertThat(failure)
                .hasMessageContaining("rank 0 could not be started")
                .hasMessageContaining("no-such-program");
    }

    @Test
    void twoNodes() throws Exception {
        int port = FreePort.next();
        CompletableFuture<Void> other = launch(node(1, port).mainClass(Meet.class, "sum is"));
        node(0, port).mainClass(Meet.class, "sum is").build().run();
        other.get(60, TimeUnit.SECONDS);
        assertThat(lines)
                .contains("[0] sum is 10", "[1] sum is 10", "[2] sum is 10", "[3] sum is 10");
    }

    @Test
    void aFailureOnOneNodeStopsTheOther() throws Exception {
        int port = FreePort.next();
        List<String> command = List.of("bash", "-c", "[ $RANK = 3 ] && exit 6; sleep 100");
        CompletableFuture<Void> other = launch(node(1, port).command(command));
        LaunchException first = failureOf(node(0, port).command(command).build());
        assertThat(first)
                .hasMessageContaining("another node failed: node 1: rank 3")
                .hasMessageContaining("exited with code 6");
        assertThatThrownBy(() -> other.get(60, TimeUnit.SECONDS))
                .isInstanceOf(ExecutionException.class)
                .cause()
                .isInstanceOfSatisfying(
                        LaunchException.class, e -> assertThat(e.exitCode()).isEqualTo(6));
    }

    @Test
    void nodesRestartTogether() throws Exception {
        int port = FreePort.next();
        List<String> command =
                List.of(
                        "bash",
                        "-c",
                        "echo try $TORCHELASTIC_RESTART_COUNT;"
                                + " [ $RANK$TORCHELASTIC_RESTART_COUNT = 30 ] && exit 6; exit 0");
        CompletableFuture<Void> other = launch(node(1, port).command(command).maxRestarts(1));
        node(0, port).command(command).maxRestarts(1).build().run();
        other.get(60, TimeUnit.SECONDS);
        assertThat(lines).contains("[0] try 1", "[1] try 1", "[2] try 1", "[3] try 1");
    }

    @Test
    void nodesThatDisagreeAreRefused() throws Exception {
        int port = FreePort.next();
        CompletableFuture<Void> other =
                launch(node(1, port).maxRestarts(1).command(List.of("true")));
        assertThatThrownBy(() -> node(0, port).command(List.of("true")).build().run())
                .hasMessageContaining("0 restarts; node 1 for")
                .hasMessageContaining("--max-restarts");
        assertThatThrownBy(() -> other.get(60, TimeUnit.SECONDS)).isNotNull();
    }

    private ProcessLauncherBuilder node(int nodeRank, int port) {
        return ranks(2).nodes(2, nodeRank).master("127.0.0.1", port).runId("r");
    }

    private static CompletableFuture<Void> launch(ProcessLauncherBuilder node) {
        ProcessLauncher launcher = node.build();
        return CompletableFuture.runAsync(launcher::run, task -> new Thread(task).start());
    }

    @Test
    void badOptionsAreRefused() {
        assertThatThrownBy(() -> ProcessLauncher.builder(0))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("0");
        assertThatThrownBy(() -> ranks(1).build())
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("nothing to run");
        assertThatThrownBy(() -> ranks(1).command(List.of())).isInstanceOf(UsageException.class);
        assertThatThrownBy(() -> ranks(1).nodes(2, 2)).isInstanceOf(UsageException.class);
        assertThatThrownBy(() -> ranks(1).master("h", 70000)).isInstanceOf(UsageException.class);
        assertThatThrownBy(() -> ranks(1).timeout(Duration.ZERO))
                .isInstanceOf(UsageException.class);
        assertThatThrownBy(() -> ranks(1).nodes(2, 0).command(List.of("true")).build())
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("2 nodes");
        assertThatThrownBy(() -> ranks(1).mainClass(null)).isInstanceOf(UsageException.class);
    }

    @Test
    void nativeAccessIsEnabledForJvmsThatAskForIt(@TempDir Path folder) throws IOException {
        assertThat(commandOf(folder, "25.0.1")).contains("--enable-native-access=ALL-UNNAMED");
        assertThat(commandOf(folder, "17.0.15"))
                .doesNotContain("--enable-native-access=ALL-UNNAMED");
        assertThat(commandOf(folder, "1.8.0_402")).contains("Main");
    }

    private static List<String> commandOf(Path folder, String version) throws IOException {
        Path home = Files.createDirectories(folder.resolve(version).resolve("bin")).getParent();
        Files.writeString(home.resolve("release"), "JAVA_VERSION=\"" + version + "\"\n");
        Path java = Files.createFile(home.resolve("bin").resolve("java"));
        return JavaCommand.ofClass(java, List.of(), ".", "Main", List.of());
    }

    @Test
    void aJvmWithoutAReleaseFileIsAsked(@TempDir Path folder) throws IOException {
        Path java = Files.createDirectory(folder.resolve("bin")).resolve("java");
        Files.writeString(java, "#!/bin/sh\necho 'openjdk version \"24.0.2\" 2025-07-15' >&2\n");
        assertThat(java.toFile().setExecutable(true)).isTrue();
        assertThat(JavaCommand.featureVersion(java)).isEqualTo(24);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "A=B", "=", "A\0B"})
    void namesThatNoEnvironmentCanHoldAreRefused(String name) {
        assertThatThrownBy(() -> ranks(1).environment(name, "value"))
                .isInstanceOf(UsageException.class);
    }

    @Test
    void textsThatNoProcessCanBeGivenAreRefused() {
        String bad = "a\0b";
        assertThatThrownBy(() -> ranks(1).environment("A", bad)).isInstanceOf(UsageException.class);
        assertThatThrownBy(() -> ranks(1).runId(bad)).isInstanceOf(UsageException.class);
        assertThatThrownBy(() -> ranks(1).role(bad)).isInstanceOf(UsageException.class);
        assertThatThrownBy(() -> ranks(1).master(bad, 0)).isInstanceOf(UsageException.class);
        assertThatThrownBy(() -> ranks(1).command(List.of("echo", bad)))
                .isInstanceOf(UsageException.class);
        assertThatThrownBy(() -> ranks(1).jvmArguments(bad)).isInstanceOf(UsageException.class);
    }

    @Test
    void moreRanksThanAWorldMayHaveAreRefused() {
        assertThatThrownBy(() -> shell(Integer.MAX_VALUE, "true").build())
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("more than");
        assertThatThrownBy(() -> shell(65_536, "true").nodes(65_536, 0).master("h", 29500).build())
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("more than");
    }

    @Test
    void aGracePeriodWithoutEndDoesNotHideTheFailure() {
        LaunchException failure =
                failureOf(
                        shell(2, "test $RANK = 0 && exit 7; sleep 1000")
                                .grace(Duration.ofSeconds(Long.MAX_VALUE))
                                .build());
        assertThat(failure.exitCode()).isEqualTo(7);
        assertThat(failure).hasMessageContaining("exited with code 7");
    }

    @Test
    void timeThatIsOverWhileRanksFailAgainAndAgainTellsWhy() {
        LaunchException failure =
                failureOf(
                        shell(1, "exit 9")
                                .maxRestarts(Integer.MAX_VALUE)
                                .timeout(expires(Duration.ofMillis(700)))
                                .build());
        assertThat(failure.getMessage())
                .doesNotContain("ranks []")
                .containsAnyOf("exited with code 9", "ranks [0] were still running");
    }
}
