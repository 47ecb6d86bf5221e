package org.jccl.launch;

import static java.util.stream.Collectors.joining;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.jccl.testing.Patience.enough;

import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.text.MessageFormat;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.stream.IntStream;
import org.jccl.UsageException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.ResourceLock;

/** What becomes of that which the ranks of a launcher print. */
@Timeout(120)
@ResourceLock("log of ProcessLauncher")
class RankOutputTest {

    private static final Duration LIMIT = enough(Duration.ofSeconds(90));

    private final Logger logger = Logger.getLogger(ProcessLauncher.class.getName());
    private final Queue<String> logged = new ConcurrentLinkedQueue<>();
    private final Queue<String> lines = new ConcurrentLinkedQueue<>();

    private final Handler handler =
            new Handler() {
                @Override
                public void publish(LogRecord record) {
                    logged.add(MessageFormat.format(record.getMessage(), record.getParameters()));
                }

                @Override
                public void flush() {}

                @Override
                public void close() {}
            };

    @BeforeEach
    void listen() {
        logger.addHandler(handler);
    }

    @AfterEach
    void stopListening() {
        logger.removeHandler(handler);
    }

    private ProcessLauncherBuilder shell(String script) {
        return ProcessLauncher.builder(1)
                .timeout(LIMIT)
                .output((rank, error, line) -> lines.add(line))
                .command(List.of("bash", "-c", script));
    }

    @Test
    void aLogThatCanNotBeWrittenIsNamedOnceAndTheJobGoesOn(@TempDir Path logs) throws Exception {
        Path full = Path.of("/dev/full");
        Path log = Files.createSymbolicLink(logs.resolve("stdout.log"), full);
        RankOutput output =
                new RankOutput(
                        "rank 0 stdout",
                        Optional.of(log),
                        line -> lines.add(new String(line, StandardCharsets.UTF_8)));
        String text = IntStream.rangeClosed(1, 1000).mapToObj(i -> i + "\n").collect(joining());
        output.follow(new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8)));
        output.drain(System.nanoTime());
        assertThat(lines).hasSize(1000).contains("1000");
        assertThat(logged.stream().filter(line -> line.contains(log.toString())))
                .hasSize(2)
                .anyMatch(line -> line.contains("No space left") && line.contains("rank 0 stdout"))
                .anyMatch(line -> line.contains("1,000 lines of rank 0 stdout are missing"));
    }

    @Test
    void aLineWithoutAnEndIsCutInPieces(@TempDir Path logs) throws Exception {
        shell("head -c 1000000 /dev/zero | tr '\\0' x; printf 'ab\\rc\\r\\n\\nd'")
                .runId("r")
                .logs(logs, OutputStreams.BOTH, OutputStreams.NONE)
                .build()
                .run();
        // A failure must not print them.
        assertThat(lines.stream().mapToInt(String::length).max()).hasValue(65_536);
        String whole = String.join("|", lines);
        assertThat(whole.endsWith("xab|c||d")).isTrue();
        assertThat(whole.chars().filter(c -> c == 'x').count()).isEqualTo(1_000_000);
        String log = Files.readString(logs.resolve("r/attempt_0/0/stdout.log"));
        assertThat(log.equals("x".repeat(1_000_000) + "ab\rc\r\n\nd")).isTrue();
    }

    /** A progress bar, and text of another encoding. */
    @Test
    void aLogHasTheBytesThatTheRankHasWritten(@TempDir Path logs) throws Exception {
        shell("printf '5%%\\r95%%\\r\\ndone\\r\\n\\350\\xff\\0z'; printf '\\200' >&2")
                .runId("r")
                .logs(logs, OutputStreams.BOTH, OutputStreams.NONE)
                .build()
                .run();
        Path folder = logs.resolve("r/attempt_0/0");
        assertThat(Files.readString(folder.resolve("stdout.log"), StandardCharsets.ISO_8859_1))
                .isEqualTo("5%\r95%\r\ndone\r\n\u00e8\u00ff\0z");
        assertThat(Files.readAllBytes(folder.resolve("stderr.log"))).containsExactly(0x80);
    }

    @Test
    void theHandlerMayTakeTheBytesOfALine() {
        List<byte[]> taken = new CopyOnWriteArrayList<>();
        ProcessLauncher.builder(1)
                .timeout(LIMIT)
                .command(List.of("printf", "a\\377b\\rc\\n"))
                .output(
                        new OutputHandler() {
                            @Override
                            public void line(int rank, boolean error, String line) {
                                throw new AssertionError("not called");
                            }

                            @Override
                            public void bytes(int rank, boolean error, byte[] line) {
                                taken.add(line);
                            }
                        })
                .build()
                .run();
        assertThat(taken)
                .usingElementComparator(Arrays::compare)
                .containsExactly(new byte[] {'a', -1, 'b'}, new byte[] {'c'});
    }

    /** Also two at the same time, and after a failure. */
    @Test
    void noJobOverwritesTheLogsOfAnother(@TempDir Path logs) throws Exception {
        ProcessLauncher launcher =
                shell("echo $RANDOM$RANDOM; echo '{}' > $TORCHELASTIC_ERROR_FILE")
                        .runId("team/night")
                        .logs(logs, OutputStreams.BOTH, OutputStreams.NONE)
                        .build();
        List<Thread> jobs = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            Thread job = new Thread(launcher::run);
            job.start();
            jobs.add(job);
        }
        for (Thread job : jobs) {
            job.join(LIMIT.toMillis());
        }
        List<String> kept = new ArrayList<>();
        for (String name : List.of("night", "night.2", "night.3")) {
            Path folder = logs.resolve("team").resolve(name).resolve("attempt_0/0");
            kept.add(Files.readString(folder.resolve("stdout.log")).strip());
            assertThat(folder.resolve("error.json")).exists();
        }
        assertThat(kept).containsExactlyInAnyOrderElementsOf(lines);
        assertThat(logged).anyMatch(line -> line.contains("night.2, because"));
    }

    @Test
    void singleRanksAreKeptAndShown(@TempDir Path logs) {
        Queue<String> shown = new ConcurrentLinkedQueue<>();
        ProcessLauncher.builder(3)
                .timeout(LIMIT)
                .output((rank, error, line) -> shown.add(rank + line))
                .command(List.of("bash", "-c", "echo out; echo err >&2"))
                .runId("r")
                .logs(
                        logs,
                        Map.of(0, OutputStreams.STDOUT, 7, OutputStreams.BOTH),
                        Map.of(1, OutputStreams.STDERR))
                .show(List.of(0, 1))
                .build()
                .run();
        assertThat(shown).containsExactlyInAnyOrder("0out", "0err", "1out");
        Path attempt = logs.resolve("r/attempt_0");
        assertThat(attempt.resolve("0/stdout.log")).hasContent("out");
        assertThat(attempt.resolve("0/stderr.log")).doesNotExist();
        assertThat(attempt.resolve("1/stderr.log")).hasContent("err");
        assertThat(attempt.resolve("2/stdout.log")).doesNotExist();
    }

    /** The rank ends because of the signal, not of the launcher. */
    @Test
    void aSignalIsPassedToTheRanks() throws Exception {
        CountDownLatch ready = new CountDownLatch(2);
        ProcessLauncher launcher =
                ProcessLauncher.builder(2)
                        .timeout(LIMIT)
                        .output(
                                (rank, error, line) -> {
                                    lines.add(line);
                                    ready.countDown();
                                })
                        .command(
                                List.of(
                                        "bash",
                                        "-c",
                                        "trap 'echo saved; exit 0' USR2; echo ready;"
                                                + " while :; do sleep 0.1; done"))
                        .build();
        launcher.signal("USR2");
        Thread job = new Thread(launcher::run);
        job.start();
        assertThat(ready.await(LIMIT.toSeconds(), TimeUnit.SECONDS)).isTrue();
        launcher.signal("USR2");
        job.join(LIMIT.toMillis());
        assertThat(lines).containsExactlyInAnyOrder("ready", "ready", "saved", "saved");
        for (String wrong : new String[] {null, "", "usr1", "USR1 KILL", "9"}) {
            assertThatThrownBy(() -> launcher.signal(wrong)).isInstanceOf(UsageException.class);
        }
    }

    @Test
    void aRunIdThatLeadsOutOfTheLogFolderIsRefused(@TempDir Path logs) {
        for (String id : List.of("../x", "a/../../x", "/x", ".", "..")) {
            assertThatThrownBy(
                            () ->
                                    shell("true")
                                            .runId(id)
                                            .logs(logs, OutputStreams.BOTH, OutputStreams.NONE)
                                            .build())
                    .as(id)
                    .isInstanceOf(UsageException.class)
                    .hasMessageContaining("run id '" + id + "'")
                    .hasMessageContaining(logs.toString());
        }
        shell("true").runId("../x").build().run();
        shell("true")
                .runId("team/job")
                .logs(logs, OutputStreams.BOTH, OutputStreams.NONE)
                .build()
                .run();
        assertThat(logs.resolve("team/job/attempt_0/0/stdout.log")).exists();
    }

    /** The wait was 20 s: 5 s for each stream, at the rank's end and again at that of the job. */
    @Test
    void aChildThatHoldsTheStreamsDoesNotDelayTheEnd() {
        shell("sleep 1000 & echo $!; sleep 1").build().run();
        ProcessHandle.of(Long.parseLong(lines.remove())).ifPresent(ProcessHandle::destroyForcibly);
        assertThat(logged).anyMatch(line -> line.contains("rank 0 stdout is held open"));
    }

    @Test
    void theFirstLinesOfAnExceptionAreNotPushedOutByItsFrames() {
        LaunchException failure =
                catchThrowableOfType(
                        LaunchException.class,
                        shell(
                                                """
                                exec >&2; echo starting
                                echo 'Exception in thread "main" java.lang.RuntimeException: boom'
                                echo 'raised from infer_size at infer.cpp:35:'
                                for i in $(seq 60); do echo "frame #$i: c10::f()"; done
                                echo 'Caused by: java.io.IOException: disk'
                                for i in $(seq 60); do echo "	at a.b.C($i)"; done
                                exit 1""")
                                        .build()
                                ::run);
        assertThat(failure)
                .hasMessageContaining("RuntimeException: boom")
                .hasMessageContaining("raised from infer_size")
                .hasMessageContaining("frame #4:")
                .hasMessageContaining("Caused by: java.io.IOException: disk")
                .hasMessageNotContaining("at a.b.C(")
                .hasMessageNotContaining("frame #5:")
                .hasMessageNotContaining("starting");
    }

    @Test
    void anExceptionAmongTheLastLinesIsNotRepeated() {
        LastLines last = new LastLines();
        last.add("before");
        last.add("Traceback (most recent call last):");
        for (int i = 0; i < 18; i++) {
            last.add("  line " + i);
        }
        assertThat(last.all()).hasSize(20).doesNotHaveDuplicates();
        last.add("ValueError: no");
        last.add("end");
        assertThat(last.all())
                .hasSize(28)
                .startsWith("Traceback (most recent call last):", "  line 0")
                .endsWith("ValueError: no", "end")
                .contains("...");
        for (int i = 0; i < 200; i++) {
            last.add("step " + i);
        }
        last.add("org.jccl.PeerLostException: rank 1");
        last.add("java.io.IOException: its consequence");
        for (int i = 0; i < 30; i++) {
            last.add("\tat frame " + i);
        }
        assertThat(last.all())
                .startsWith(
                        "org.jccl.PeerLostException: rank 1",
                        "java.io.IOException: its consequence",
                        "\tat frame 0")
                .hasSize(27);
        last.add("y".repeat(10_000));
        assertThat(last.all().get(last.all().size() - 1)).hasSize(2_003);
    }
}
