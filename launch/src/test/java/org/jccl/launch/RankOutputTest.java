package org.jccl.launch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.nio.file.Files;
import java.nio.file.Path;
import java.text.MessageFormat;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
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

    private static final Duration LIMIT = Duration.ofSeconds(90);

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
        Path folder = Files.createDirectories(logs.resolve("r/attempt_0/0"));
        Path full = Path.of("/dev/full");
        Path log = Files.createSymbolicLink(folder.resolve("stdout.log"), full);
        shell("seq 1000; echo other >&2")
                .runId("r")
                .logs(logs, OutputStreams.BOTH, OutputStreams.NONE)
                .build()
                .run();
        assertThat(lines).hasSize(1001).contains("1000", "other");
        assertThat(folder.resolve("stderr.log")).hasContent("other");
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
        assertThat(log.equals(String.join("\n", lines) + "\n")).isTrue();
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
        long start = System.nanoTime();
        shell("sleep 1000 & echo $!; sleep 1").build().run();
        ProcessHandle.of(Long.parseLong(lines.remove())).ifPresent(ProcessHandle::destroyForcibly);
        assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(15));
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
                .hasMessageContaining("at a.b.C(60)")
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
