package org.jccl.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.jccl.testing.Patience.enough;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.jar.Attributes;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import org.jccl.bootstrap.Rendezvous;
import org.jccl.cli.info.Bindings;
import org.jccl.testing.FreePort;
import org.jccl.testing.LaunchedRank;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class RunCommandTest {

    private record Result(int exitCode, String out, String err) {}

    private static Result jccl(String... arguments) {
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        int exitCode =
                Jccl.execute(new PrintWriter(out, true), new PrintWriter(err, true), arguments);
        return new Result(exitCode, out.toString(), err.toString());
    }

    private static Result run(String... arguments) {
        List<String> all =
                new ArrayList<>(
                        List.of(
                                "run",
                                "--timeout",
                                "" + enough(Duration.ofSeconds(90)).toSeconds()));
        all.addAll(List.of(arguments));
        return jccl(all.toArray(String[]::new));
    }

    /** A rank of a Java job: meets the others, prints the sum of all ranks + 1. */
    static final class SumOfRanks {
        private SumOfRanks() {}

        public static void main(String[] arguments) {
            try (Rendezvous meeting = LaunchedRank.join()) {
                meeting.store().add("sum", meeting.membership().rank() + 1);
                meeting.store()
                        .barrier("added", meeting.membership().worldSize(), LaunchedRank.TIMEOUT);
                System.out.println("sum " + meeting.store().add("sum", 0));
            }
        }
    }

    private static String[] javaMain(String... options) {
        List<String> all = new ArrayList<>(List.of(options));
        all.addAll(
                List.of(
                        "--",
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-cp",
                        System.getProperty("java.class.path"),
                        SumOfRanks.class.getName()));
        return all.toArray(String[]::new);
    }

    /** Prints its arguments. */
    static final class Echo {
        private Echo() {}

        public static void main(String[] arguments) {
            System.out.println(String.join(" ", arguments));
        }
    }

    @Test
    void startsJavaForAMainClass() {
        String path = System.getProperty("java.class.path");
        String main = Echo.class.getName();
        for (String option : List.of("-m", "--module")) {
            Result result = run("-n", "2", option, main, "-cp", path, "--epochs", "3", "-cp");
            assertThat(result.out().lines())
                    .as(result.err())
                    .containsExactlyInAnyOrder("[0] --epochs 3 -cp", "[1] --epochs 3 -cp");
        }
    }

    @Test
    void startsJavaForAJar(@TempDir Path folder) throws IOException {
        Path jar = folder.resolve("app.jar");
        Manifest manifest = new Manifest();
        manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
        manifest.getMainAttributes().put(Attributes.Name.MAIN_CLASS, Echo.class.getName());
        String entry = Echo.class.getName().replace('.', '/') + ".class";
        try (JarOutputStream out = new JarOutputStream(Files.newOutputStream(jar), manifest);
                InputStream code = Echo.class.getClassLoader().getResourceAsStream(entry)) {
            out.putNextEntry(new ZipEntry(entry));
            code.transferTo(out);
        }
        Result result =
                run("-n", "2", jar.toString(), "--epochs", "3", ":", "--role", "b", jar.toString());
        assertThat(result.out().lines())
                .as(result.err())
                .containsExactlyInAnyOrder("[0] --epochs 3", "[1] --epochs 3", "[2] ");
    }

    @ParameterizedTest
    @ValueSource(strings = {"-n", "--nproc-per-node", "--nproc_per_node"})
    void runsACommandPerRank(String option) {
        Result result = run(option, "2", "--", "echo", "hello", "--world", "--", "-n");
        assertThat(result.out().lines())
                .containsExactlyInAnyOrder("[0] hello --world -- -n", "[1] hello --world -- -n");
        assertThat(result.exitCode()).isZero();
    }

    @Test
    void theSeparatorMayBeLeftOut() {
        assertThat(run("-n1", "echo", "hello", "-x", "--").out()).contains("[0] hello -x --");
    }

    @Test
    void rolesRunTheirOwnCommands() {
        String say = "echo $0 $ROLE_NAME $ROLE_RANK/$ROLE_WORLD_SIZE";
        Result result =
                run(
                        "--role=a",
                        "-n2",
                        "--",
                        "bash",
                        "-c",
                        say,
                        "one",
                        ":",
                        "--role=b",
                        "bash",
                        "-c",
                        say,
                        "two",
                        ":",
                        "--role",
                        "c",
                        "-n",
                        "1",
                        "--",
                        "echo",
                        "three");
        assertThat(result.out().lines())
                .containsExactlyInAnyOrder(
                        "[0] one a 0/2", "[1] one a 1/2", "[2] two b 0/1", "[3] three");
    }

    @Test
    void aColonOfTheCommandStays() {
        assertThat(run("--", "echo", ":", "a", ":", "b").out()).contains("[0] : a : b");
    }

    @Test
    void javaRanksMeet() {
        Result result = run(javaMain("--standalone", "--nproc-per-node=3"));
        assertThat(result.out().lines())
                .containsExactlyInAnyOrder("[0] sum 6", "[1] sum 6", "[2] sum 6");
    }

    @Test
    void twoNodesMeet() throws Exception {
        String port = Integer.toString(FreePort.next());
        CompletableFuture<Result> other =
                CompletableFuture.supplyAsync(
                        () -> run(node("1", port)), task -> new Thread(task).start());
        Result first = run(node("0", port));
        assertThat(first.out().lines()).containsExactlyInAnyOrder("[0] sum 10", "[1] sum 10");
        assertThat(other.get(90, TimeUnit.SECONDS).out().lines())
                .containsExactlyInAnyOrder("[2] sum 10", "[3] sum 10");
    }

    private static String[] node(String rank, String port) {
        return javaMain(
                "-n2",
                "--nnodes=2",
                "--node_rank",
                rank,
                "--master_addr=127.0.0.1",
                "--master-port",
                port,
                "--rdzv_id=r");
    }

    @Test
    void theExitCodeIsThatOfTheRankThatFailed() {
        Result result = run("-n2", "--", "bash", "-c", "[ $RANK = 1 ] && exit 7; sleep 100");
        assertThat(result.exitCode()).isEqualTo(7);
        assertThat(result.err())
                .contains("jccl run: rank 1 on ")
                .contains("exited with code 7")
                .contains("the other ranks of this node were stopped");
        assertThat(run("--", "false").exitCode()).isEqualTo(1);
    }

    @Test
    void aSignalIsExplained() {
        Result result = run("--", "bash", "-c", "echo last words >&2; kill -KILL $$");
        assertThat(result.exitCode()).isEqualTo(137);
        assertThat(result.err()).contains("SIGKILL").contains("| last words");
    }

    @Test
    void theTimeIsOver() {
        Result result = jccl("run", "--timeout=1", "--", "sleep", "100");
        assertThat(result.exitCode()).isEqualTo(124);
        assertThat(result.err()).contains("ranks [0] were still running");
    }

    @Test
    void restarts() {
        Result result =
                run(
                        "--max-restarts=1",
                        "--",
                        "bash",
                        "-c",
                        "exit $((1 - TORCHELASTIC_RESTART_COUNT))");
        assertThat(result.exitCode()).isZero();
    }

    @Test
    void logsAreKeptAndShown(@TempDir Path folder) {
        Result result = run("--log-dir", folder.toString(), "--run-id=r", "--", "echo", "hello");
        assertThat(result.out()).contains("[0] hello");
        assertThat(folder.resolve("r/attempt_0/0/stdout.log")).hasContent("hello");
        Result quiet =
                run("--log_dir", folder.toString(), "-r3", "--run-id=q", "--", "echo", "hello");
        assertThat(quiet.out()).isEmpty();
        assertThat(folder.resolve("q/attempt_0/0/stdout.log")).hasContent("hello");
    }

    @Test
    void jobsWithOneLogFolderKeepTheirFilesApart(@TempDir Path folder) throws IOException {
        for (String each : List.of("first", "second")) {
            run("--log-dir", folder.toString(), "--", "sh", "-c", "echo $0; exit 3", each);
        }
        assertThat(folder.resolve("none/attempt_0/0/stdout.log")).hasContent("first");
        assertThat(folder.resolve("none.2/attempt_0/0/stdout.log")).hasContent("second");
    }

    @Test
    void streamsOfSingleRanksAreKeptInATemporaryFolder() throws IOException {
        String say = "echo out $RANK; echo err $RANK >&2";
        Result result = run("-n3", "--tee=0:1", "-r", "1:2,2:3", "--", "bash", "-c", say);
        assertThat(result.out().lines()).containsExactlyInAnyOrder("[0] out 0", "[1] out 1");
        List<String> err = result.err().lines().toList();
        assertThat(err).hasSize(2).contains("[0] err 0");
        String folder =
                err.stream()
                        .filter(line -> line.startsWith("jccl run: logs are in"))
                        .toList()
                        .get(0);
        Path attempt = Path.of(folder.substring(folder.indexOf('/'))).resolve("none/attempt_0");
        assertThat(attempt.resolve("0/stdout.log")).hasContent("out 0");
        assertThat(attempt.resolve("0/stderr.log")).doesNotExist();
        assertThat(attempt.resolve("1/stderr.log")).hasContent("err 1");
        assertThat(attempt.resolve("2/stdout.log")).hasContent("out 2");
        try (Stream<Path> all = Files.walk(attempt.getParent().getParent())) {
            all.sorted(Comparator.reverseOrder()).map(Path::toFile).forEach(File::delete);
        }
    }

    @Test
    void someRanksAreShown() {
        assertThat(run("-n3", "--local_ranks_filter=0,2", "--", "echo", "x").out().lines())
                .containsExactlyInAnyOrder("[0] x", "[2] x");
    }

    @ParameterizedTest
    @CsvSource({
        "--rdzv-endpoint, localhost, localhost",
        "--rdzv-endpoint, 127.0.0.1:0, 127.0.0.1",
        "--rdzv-endpoint, '', 127.0.0.1",
        "--rdzv-endpoint, [::1]:0, ::1",
        "--rdzv-endpoint, ::1:0, ::1",
        "--master-addr, '', 127.0.0.1",
        "--master-addr, [::1], ::1"
    })
    void ranksGetAnAddressAndAPort(String option, String value, String address) {
        Result result = run(option, value, "--", "sh", "-c", "echo $MASTER_ADDR $MASTER_PORT");
        assertThat(result.out()).as(result.err()).matches("\\[0] " + address + " [1-9][0-9]+\n");
    }

    @Test
    void optionsOfTorchrunThatMeanNothingHereAreIgnored() {
        Result result =
                run(
                        "--no-python",
                        "--monitor_interval=0.1",
                        "--start-method",
                        "spawn",
                        "--event-log-handler=null",
                        "--signals-to-handle=SIGTERM,SIGUSR1",
                        "--rdzv-backend=c10d",
                        "--rdzv-endpoint=localhost:0",
                        "--rdzv-conf=timeout=900,is_host=true",
                        "--nnodes=1",
                        "-n7",
                        "-n2",
                        "--",
                        "true");
        assertThat(result.exitCode()).as(result.err()).isZero();
        assertThat(result.err().lines().filter(line -> line.startsWith("jccl run: ")))
                .containsExactly(
                        "jccl run: --monitor-interval is ignored: the end of a rank is noticed at"
                                + " once",
                        "jccl run: --start-method is ignored: ranks are commands",
                        "jccl run: --event-log-handler is ignored: there are no event handlers");
    }

    @ParameterizedTest
    @ValueSource(strings = {"cpu", "auto", "CPU"})
    void ranksMayBeAsManyAsProcessors(String word) {
        int devices = Bindings.devices();
        int ranks =
                word.equals("auto") && devices > 0
                        ? devices
                        : Runtime.getRuntime().availableProcessors();
        assertThat(run("--nproc-per-node=" + word, "--", "echo", "x").out().lines()).hasSize(ranks);
    }

    @Test
    void devicesThatAreNotThereAreNotCounted() {
        assumeTrue(Bindings.devices() == 0, "this host has devices");
        Result result = run("-ngpu", "--", "true");
        assertThat(result.exitCode()).isEqualTo(2);
        assertThat(result.err()).contains("'gpu' needs devices, and no backend finds any");
    }

    @Test
    void timesMayHaveFractions() {
        Result result =
                jccl("run", "--timeout=0.5", "--shutdown-timeout", ".5", "--", "sleep", "100");
        assertThat(result.exitCode()).isEqualTo(124);
        assertThat(result.err()).contains("still running after 500 ms");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "run | Missing required parameter: 'CMD'",
                "run --nproc-per-node x -- true | is not a number of ranks, nor auto, cpu, gpu or xpu",
                "run --no-such-option -- true | Unknown option: '--no-such-option'",
                "run --nnodes 2 -- true | needs --master-addr",
                "run --nnodes 2:x -- true | is not a number of nodes",
                "run --nnodes 2:4 -- true | for a range, use torchrun: torchrun --nnodes 2:4 --no-python java ...",
                "run --rdzv-backend zoo -- true | it is static, etcd or c10d",
                "run --rdzv-backend etcd --rdzv-endpoint h -- true | needs --rdzv-endpoint, the members of etcd, and --rdzv-id",
                "run --nnodes 2 --rdzv-backend c10d -- true | or use torchrun: torchrun --nnodes 2 --no-python java ...",
                "run -n 2 no/train.py --epochs 3 | name its interpreter too, as in 'jccl run -n 2 -- python3 no/train.py'",
                "run --timeout 1h -- true | is not a number of seconds, such as 90 or 1.5",
                "run --timeout 9e9 -- true | is not a number of seconds",
                "run --tee 0:1,x:2 -- true | nor such a number for single local ranks",
                "run --local-ranks-filter a -- true | --local-ranks-filter",
                "run --signals-to-handle SIGKILL -- true | cannot be passed on; these can: USR1",
                "run --run-path /x.py | no --run-path of torchrun",
                "run --logs-specs a -- true | no --logs-specs of torchrun",
                "run --numa-binding node -- true | no --numa-binding of torchrun",
                "run --virtual-local-rank -- true | no --virtual-local-rank of torchrun",
                "run --duplicate-stdout-filters a -- true | with grep",
                "run --log-dir d --tee 7 -- true | is not 0 (none)",
                "run -- true : --role x | after ':' in '--role x': Missing required parameter: 'CMD'",
                "run -- true : --role x -n y true | after ':' in '--role x -n y true'",
                "fly | Unmatched argument"
            })
    void aWrongCommandLineIsExplained(String line, String explanation) {
        Result result = jccl(line.split(" "));
        assertThat(result.exitCode()).isEqualTo(2);
        assertThat(result.err()).contains(explanation);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "run -n 0 -- true | number of ranks is 0",
                "run -- true : --role x -n 0 true | number of ranks is 0",
                "run --rdzv-endpoint h:x -- true | --rdzv-endpoint=h:x: the port must be a number",
                "run --rdzv-endpoint tcp://h:1 -- true | is not a host",
                "run --rdzv-endpoint :29483 -- true | --rdzv-endpoint=:29483",
                "run --rdzv-endpoint 30000 -- true | it is a number without a host",
                "run --master-addr h:1 -- true | --master-addr=h:1: give the port separately",
                "run --rdzv-backend etcd --rdzv-id j --rdzv-endpoint a:1,b:x -- true | --rdzv-endpoint=b:x: the port",
                "run --timeout 0 -- true | timeout is 0 s",
                "run --nnodes 2 --node-rank 2 --master-addr a -- true | node rank 2 does not exist",
                "run --tls-cert a -- true | Missing required argument(s): --tls-key=FILE, --tls-ca=FILE",
                "run --tls-cert a --tls-key b --tls-ca c -- true | a cannot be read"
            })
    void whatTheLauncherRefusesIsAWrongCommandLineToo(String line, String explanation) {
        Result result = jccl(line.split(" "));
        assertThat(result.exitCode()).isEqualTo(2);
        assertThat(result.err()).contains(explanation, "Usage: jccl run").doesNotContain("\tat ");
        // The reason is not above a screen of options.
        assertThat(result.err().lines().toList().subList(0, 2))
                .satisfiesExactly(
                        usage -> assertThat(usage).startsWith("Usage: jccl run"),
                        more ->
                                assertThat(more)
                                        .isEqualTo("Run 'jccl run --help' for all options."));
    }

    @Test
    void theMasterPortMayBeTaken() throws IOException {
        try (ServerSocket taken = new ServerSocket(0)) {
            Result result = run("--master-port=" + taken.getLocalPort(), "--", "true");
            assertThat(result.exitCode()).isEqualTo(1);
            assertThat(result.err()).contains(":" + taken.getLocalPort()).contains("in use");
        }
    }

    @Test
    void helpNamesTheWords() {
        assertThat(jccl("run", "--help").out())
                .contains("--nproc-per-node")
                .contains("--max-restarts")
                .contains("after --");
        assertThat(jccl("--help").out()).contains("run");
        assertThat(jccl("--version").out()).startsWith("jccl ");
    }
}
