package org.jccl.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jccl.bootstrap.Rendezvous;
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
        List<String> all = new ArrayList<>(List.of("run", "--timeout", "90"));
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
    void anElasticJobsNodesFindTheirPlaces() throws Exception {
        String endpoint = "127.0.0.1:" + FreePort.next();
        String[] command =
                javaMain(
                        "-n2",
                        "--nnodes=2:3",
                        "--rdzv_backend=c10d",
                        "--rdzv_endpoint",
                        endpoint,
                        "--rdzv_conf=join_timeout=60,last_call_timeout=1",
                        "--rdzv-conf=keep_alive_interval=1,keep_alive_max_attempt=9",
                        "--local-addr=127.0.0.1",
                        "--rdzv_id=r");
        CompletableFuture<Result> other =
                CompletableFuture.supplyAsync(() -> run(command), task -> new Thread(task).start());
        String both = run(command).out() + other.get(90, TimeUnit.SECONDS).out();
        assertThat(both.lines())
                .containsExactlyInAnyOrder("[0] sum 10", "[1] sum 10", "[2] sum 10", "[3] sum 10");
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

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "run | Missing required parameter: 'CMD'",
                "run --nproc-per-node x -- true | is not a number of ranks",
                "run --no-such-option -- true | Unknown option: '--no-such-option'",
                "run --nnodes 2 -- true | needs --master-addr",
                "run --nnodes 2:x -- true | is not a number of nodes, nor MIN:MAX",
                "run --nnodes 2:3 -- true | needs --rdzv-endpoint",
                "run --nnodes 2:3 --rdzv-backend static -- true | needs --rdzv-backend=c10d",
                "run --rdzv-backend etcd -- true | it is static or c10d",
                "run --nnodes 2 --rdzv-backend c10d -- true | needs --rdzv-endpoint",
                "run --nnodes 2:3 --rdzv-endpoint h --rdzv-conf a=1 -- true | unknown [a]",
                "run --tee 3 -- true | need --log-dir",
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
                "run --timeout 0 -- true | timeout is 0 s",
                "run --nnodes 3:2 --rdzv-endpoint h -- true | of 3 to 2 nodes is none",
                "run --nnodes 1:2 --rdzv-endpoint h:0 -- true | is not host:port",
                "run --nnodes 2 --node-rank 2 --master-addr a -- true | node rank 2 does not exist",
                "run --tls-cert a -- true | Missing required argument(s): --tls-key=FILE, --tls-ca=FILE",
                "run --tls-cert a --tls-key b --tls-ca c -- true | a cannot be read"
            })
    void whatTheLauncherRefusesIsAWrongCommandLineToo(String line, String explanation) {
        Result result = jccl(line.split(" "));
        assertThat(result.exitCode()).isEqualTo(2);
        assertThat(result.err()).contains(explanation, "Usage: jccl run").doesNotContain("\tat ");
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
