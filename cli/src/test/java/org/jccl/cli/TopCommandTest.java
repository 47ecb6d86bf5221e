package org.jccl.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jccl.spi.LocalHost;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

@Timeout(120)
@Execution(ExecutionMode.CONCURRENT)
class TopCommandTest {

    @TempDir private Path folder;

    /** What a rank writes; all of it is now unless another age is given. */
    private void write(int rank, int size, long ageMillis, String more) throws IOException {
        Files.writeString(
                folder.resolve("rank" + rank + ".json"),
                String.format(
                        Locale.ROOT,
                        """
                        {"version": "jccl monitor 1", "rank": %d, "size": %d, "host": "elsewhere",
                         "pid": 1, "process_started_ms": 0, "time_ms": %d, "interval_ms": 1000,
                         "operations_per_second": 20.4, "bytes_per_second": 2500000.0, %s}
                        """,
                        rank,
                        size,
                        System.currentTimeMillis() - ageMillis,
                        more));
    }

    private static String group(String name, long started, String running, long runningMillis) {
        return String.format(
                Locale.ROOT,
                "{\"name\": \"%s\", \"backend\": \"gloo\", \"rank\": 0, \"size\": 2,"
                        + " \"started\": %d, \"completed\": %d%s}",
                name,
                started,
                started - 1,
                running.isEmpty()
                        ? ""
                        : String.format(
                                Locale.ROOT,
                                ", \"running\": \"%s\", \"running_sequence\": %d,"
                                        + " \"running_ms\": %d",
                                running,
                                started,
                                runningMillis));
    }

    private Command top(String... options) {
        String[] arguments = new String[options.length + 2];
        arguments[0] = "top";
        arguments[1] = folder.toString();
        System.arraycopy(options, 0, arguments, 2, options.length);
        return Command.jccl(arguments);
    }

    @Test
    void whoIsBehindIsWhatTheOthersWaitFor() throws IOException {
        write(0, 3, 0, "\"groups\": [" + group("world", 7, "barrier()", 1500) + "]");
        write(1, 3, 0, "\"groups\": [" + group("world", 5, "", 0) + "]");
        write(2, 3, 0, "\"groups\": [" + group("world", 7, "barrier()", 61_000) + "]");
        Command once = top("--once");
        assertThat(once.out().lines().map(String::stripTrailing).toList())
                .containsExactly(
                        " RANK STATE    BEHIND      FOR          OPS        BYTES  OPERATION",
                        "    0 ok                 1.5 s         20/s     2.5 MB/s  world gloo: 7 barrier()",
                        "    1 ok            2                  20/s     2.5 MB/s  world gloo: after 5",
                        "    2 ok                 1m01s         20/s     2.5 MB/s  world gloo: 7 barrier()",
                        "",
                        "world gloo: ranks 0, 2 wait in operation 7 barrier() for up to 1m01s, for"
                                + " rank 1",
                        "");
        assertThat(once.exitCode()).isEqualTo(1);
    }

    @Test
    void aFileThatCannotBeReadHidesNoOtherRank() throws IOException {
        write(0, 2, 0, "\"groups\": [" + group("world", 7, "", 0) + "]");
        Files.writeString(folder.resolve("rank1.json"), "{\"version\": \"jccl mon");
        Command once = top("--once");
        assertThat(once.out())
                .contains("0 ok", "1 missing")
                .contains("rank1.json is ignored: it is cut off in line 1");
        assertThat(once.exitCode()).isEqualTo(1);
        Files.delete(folder.resolve("rank0.json"));
        assertThat(top("--once").err())
                .contains("rank1.json is ignored")
                .doesNotContain("REDACTED");
    }

    @Test
    void theGroupThatHoldsARankUpIsShown() throws IOException {
        String world = group("world", 4, "", 0);
        write(0, 2, 0, "\"groups\": [" + world + "," + group("world/0,1", 9, "", 0) + "]");
        write(1, 2, 0, "\"groups\": [" + world + "," + group("world/0,1", 8, "", 0) + "]");
        assertThat(top("--once").out())
                .contains("1 ok            1")
                .contains("world/0,1 gloo: after 8")
                .doesNotContain("wait");
        assertThat(top("--once").exitCode()).isZero();
    }

    @Test
    void aSilentRankOfAnotherHostIsFrozenAndOneThatNeverWroteIsMissing() throws IOException {
        write(0, 3, 0, "\"groups\": [" + group("world", 7, "barrier()", 5000) + "]");
        write(1, 3, 7400, "\"groups\": [" + group("world", 7, "barrier()", 100) + "]");
        assertThat(top("--once").out())
                .containsPattern(
                        "rank 1 is frozen: it last wrote \\d+\\.\\d s ago, process 1 on elsewhere")
                .contains("rank 0 waits in operation 7 barrier() for up to 5.0 s, for rank 1")
                .containsPattern("2 missing");
    }

    @Test
    void aFailureIsTold() throws IOException {
        write(
                0,
                1,
                0,
                "\"groups\": [{\"name\": \"world\", \"backend\": \"gloo\", \"started\": 0,"
                        + " \"completed\": -1, \"failure\": \"rank 1 is gone\"}]");
        assertThat(top("--once").out()).contains("rank 0, group world gloo failed: rank 1 is gone");
    }

    @Test
    void aJobThatHasEndedEndsTop() throws IOException {
        write(0, 2, 60_000, "\"ended\": true, \"groups\": []");
        write(1, 2, 60_000, "\"ended\": true, \"groups\": []");
        Command top = top();
        assertThat(top.exitCode()).isZero();
        assertThat(top.out()).contains("0 ended", "1 ended").doesNotContain("\u001b");
    }

    /** Its groups are closed, as a program does that ends by an exception. */
    @Test
    void aJobThatHasFailedDoesNotSayThatItEnded() throws IOException {
        write(0, 2, 60_000, "\"ended\": true, \"failure\": \"rank 1 is lost\", \"groups\": []");
        write(1, 2, 60_000, "\"ended\": true, \"groups\": []");
        Command top = top();
        assertThat(top.exitCode()).isEqualTo(1);
        assertThat(top.out()).contains("0 failed", "1 ended", "rank 0 failed: rank 1 is lost");
    }

    @Test
    void whoWaitsForAMomentIsNoFinding() throws IOException {
        write(0, 2, 0, "\"groups\": [" + group("world", 7, "barrier()", 900) + "]");
        write(1, 2, 0, "\"groups\": [" + group("world", 6, "", 0) + "]");
        assertThat(top("--once").out()).contains("1 ok            1").doesNotContain("wait");
        assertThat(top("--once").exitCode()).isZero();
    }

    @Test
    void onATerminalTheTableFits() throws Exception {
        String failure =
                "\"ended\": true, \"groups\": [{\"name\": \"world\", \"backend\": \"gloo\","
                        + " \"started\": 0, \"completed\": -1, \"failure\": \"two\\nlines\"}]";
        for (int rank = 0; rank < 20; rank++) {
            write(rank, 20, 0, failure);
        }
        String command =
                "stty rows 10 cols 50; exec '%s' -cp '%s' org.jccl.cli.Jccl top '%s'"
                        .formatted(
                                Path.of(System.getProperty("java.home"), "bin", "java"),
                                System.getProperty("java.class.path"),
                                folder);
        // A terminal of its own; -e exits as the command does.
        ProcessBuilder builder = new ProcessBuilder("script", "-qec", command, "/dev/null");
        builder.environment().put("TERM", "xterm");
        builder.environment().remove("NO_COLOR");
        Process top = builder.redirectErrorStream(true).start();
        String said = new String(top.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(top.waitFor()).as(said).isZero();
        String shown = said.substring(said.indexOf("\u001b[H") + 3, said.indexOf("\u001b[J"));
        assertThat(shown.replaceAll("\u001b\\[[0-9]*[mK]", "").lines())
                .hasSizeBetween(5, 9)
                .allMatch(line -> line.length() <= 50)
                .anyMatch(line -> line.matches("rank \\d+, group world gloo failed: two lines"))
                .anyMatch(line -> line.matches("... and \\d+ more ranks"));
    }

    /** As on a host whose name is neither in /etc/hosts nor known to a name server. */
    @Test
    void aDeadRankOfThisHostIsDeadAlsoIfTheHostCannotResolveItsOwnName() throws Exception {
        Process gone = new ProcessBuilder("true").start();
        gone.waitFor();
        write(0, 1, 60_000, "\"groups\": []");
        Path file = folder.resolve("rank0.json");
        Files.writeString(
                file,
                Files.readString(file)
                        .replace("elsewhere", LocalHost.name())
                        .replace("\"pid\": 1,", "\"pid\": " + gone.pid() + ","));
        Path noHosts = Files.createFile(folder.resolve("hosts"));
        Process top =
                new ProcessBuilder(
                                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                                "-Djdk.net.hosts.file=" + noHosts,
                                "-cp",
                                System.getProperty("java.class.path"),
                                "org.jccl.cli.Jccl",
                                "top",
                                "--once",
                                folder.toString())
                        .redirectErrorStream(true)
                        .start();
        assertThat(new String(top.getInputStream().readAllBytes(), StandardCharsets.UTF_8))
                .contains("rank 0 is dead: it last wrote ");
    }

    @Test
    void topEndsWithWhoReadsIt() throws Exception {
        write(0, 2, 0, "\"groups\": []");
        Process top =
                new ProcessBuilder(
                                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                                "-cp",
                                System.getProperty("java.class.path"),
                                "org.jccl.cli.Jccl",
                                "top",
                                "-d",
                                "0.1",
                                folder.toString())
                        .redirectError(ProcessBuilder.Redirect.INHERIT)
                        .start();
        try {
            assertThat(top.inputReader().readLine()).startsWith(" RANK");
            top.inputReader().close();
            top.waitFor();
        } finally {
            top.destroyForcibly();
        }
    }

    @Test
    void whatIsNoMonitorsFileIsNamed() throws IOException {
        for (String text :
                List.of(
                        "{}",
                        "[]",
                        "{\"version\": \"jccl monitor 1\"}",
                        "{\"version\": \"jccl monitor 1\", \"rank\": \"x\"}",
                        "{\"version\": \"jccl 1\", \"rank\": 0}",
                        "{\"version\"")) {
            Files.writeString(folder.resolve("rank0.json"), text);
            Command top = top("--once");
            assertThat(top.exitCode()).as(text).isEqualTo(1);
            assertThat(top.err())
                    .as(text)
                    .contains("jccl top: " + folder + ": rank0.json is ignored: ");
        }
        write(9, 5, 0, "\"groups\": []");
        Files.delete(folder.resolve("rank0.json"));
        assertThat(top("--once").err()).contains("rank 9 of 5 is none");
    }

    @Test
    void aFolderWithoutRanksSaysHowToGetThem() {
        assertThat(top("--once").err()).contains("start them with JCCL_MONITOR_DIR=" + folder);
        assertThat(top("--once").exitCode()).isEqualTo(1);
        assertThat(top("--delay", "0").exitCode()).isEqualTo(2);
    }

    /** The ranks' processes, which end with the test whatever happens. */
    private final class Job implements AutoCloseable {

        private final Path end = folder.resolve("end");
        private final Path output = folder.resolve("output");
        private final Process launcher;

        Job(int ranks) throws IOException {
            String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
            String classes = System.getProperty("java.class.path");
            ProcessBuilder builder =
                    new ProcessBuilder(
                            java,
                            "-XX:TieredStopAtLevel=1",
                            "-cp",
                            classes,
                            "org.jccl.cli.Jccl",
                            "run",
                            "-n",
                            String.valueOf(ranks),
                            "--",
                            java,
                            "-XX:TieredStopAtLevel=1",
                            "-XX:+UseSerialGC",
                            "-cp",
                            classes,
                            MonitoredRank.class.getName(),
                            end.toString());
            builder.environment().put("JCCL_MONITOR_DIR", folder.toString());
            launcher = builder.redirectErrorStream(true).redirectOutput(output.toFile()).start();
        }

        long pid(int rank) throws IOException {
            Matcher pid =
                    Pattern.compile("\"pid\":(\\d+)")
                            .matcher(Files.readString(folder.resolve("rank" + rank + ".json")));
            assertThat(pid.find()).isTrue();
            return Long.parseLong(pid.group(1));
        }

        void signal(String name, long pid) throws IOException, InterruptedException {
            assertThat(
                            new ProcessBuilder("kill", "-" + name, String.valueOf(pid))
                                    .start()
                                    .waitFor())
                    .isZero();
        }

        String awaitTop(Predicate<String> shown) throws InterruptedException, IOException {
            while (true) {
                String out = top("--once").out();
                if (shown.test(out)) {
                    return out;
                }
                assertThat(launcher.isAlive()).as("%s%n%s", out, Files.readString(output)).isTrue();
                Thread.sleep(100);
            }
        }

        @Override
        public void close() {
            launcher.descendants().forEach(ProcessHandle::destroyForcibly);
            launcher.destroyForcibly();
        }
    }

    @Test
    void aRankThatIsStoppedIsNamedWhileTheOthersWaitForIt() throws Exception {
        try (Job job = new Job(4)) {
            job.awaitTop(
                    out ->
                            out.lines()
                                            .filter(line -> line.matches(" +\\d ok .*world gloo.*"))
                                            .count()
                                    == 4);
            long stopped = job.pid(2);
            job.signal("STOP", stopped);
            String out =
                    job.awaitTop(
                            text ->
                                    text.contains("rank 2 is stopped")
                                            && text.contains("ranks 0, 1, 3 wait in operation"));
            assertThat(out)
                    .containsPattern("2 stopped .*world gloo")
                    .containsPattern(
                            "rank 2 is stopped: it last wrote \\d+\\.\\d s ago, process " + stopped)
                    .containsPattern(
                            "world gloo: ranks 0, 1, 3 wait in operation \\d+ allReduce\\(\\w+ x \\d+, \\w+\\) for up to \\d+\\.\\d s, for rank 2");
            job.signal("CONT", stopped);
            job.awaitTop(
                    text ->
                            !text.contains("rank 2")
                                    && text.lines()
                                                    .filter(line -> line.matches(" +\\d ok .*"))
                                                    .count()
                                            == 4);
            Files.createFile(job.end);
            CompletableFuture<Command> live = CompletableFuture.supplyAsync(() -> top("-d", "0.2"));
            assertThat(live.get(60, TimeUnit.SECONDS).exitCode()).isZero();
            assertThat(job.launcher.waitFor()).as(Files.readString(job.output)).isZero();
        }
    }

    @Test
    void aRankThatIsKilledIsDead() throws Exception {
        try (Job job = new Job(2)) {
            // A rank that the launcher ends before it wrote is missing, for which top waits.
            job.awaitTop(out -> out.contains("0 ok") && out.contains("1 ok"));
            job.signal("KILL", job.pid(1));
            job.launcher.waitFor();
            CompletableFuture<Command> live = CompletableFuture.supplyAsync(() -> top("-d", "0.2"));
            Command end = live.get(60, TimeUnit.SECONDS);
            assertThat(end.exitCode()).isEqualTo(1);
            assertThat(end.out()).contains("rank 1 is dead: it last wrote ");
        }
    }
}
