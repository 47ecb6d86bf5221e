package org.jccl.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.jccl.testing.Patience.enough;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.launch.ProcessLauncher;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class TraceCommandTest {

    private static final int RANKS = 2;
    private static final int CALLS = 3;

    @TempDir private Path folder;

    /** What the ranks of the recorded job do. */
    static final class Job {
        public static void main(String[] arguments) {
            try (ProcessGroup world = ProcessGroup.init("gloo");
                    Tensor tensor = Tensor.copyOf(new float[] {1, 2})) {
                for (int i = 0; i < CALLS; i++) {
                    world.allReduce(tensor, ReduceOp.SUM).await();
                }
                world.barrier().await();
            }
        }
    }

    @Test
    void joinsTheRanksOfAJob() throws IOException {
        ProcessLauncher.builder(RANKS)
                .mainClass(Job.class)
                .environment("JCCL_TRACE_DIR", folder.toString())
                .timeout(enough(Duration.ofSeconds(60)))
                .build()
                .run();
        Path trace = folder.resolve("trace.json");
        Path page = folder.resolve("timeline.html");
        Command command =
                Command.jccl(
                        "trace",
                        folder.toString(),
                        "-o",
                        trace.toString(),
                        "--html",
                        page.toString(),
                        "--step=allReduce");
        assertThat(command.err()).isEmpty();
        assertThat(command.exitCode()).isZero();
        assertThat(command.out())
                .contains("of 2 ranks", page + ": open it in a browser", "waited")
                // One host, one clock.
                .doesNotContain("the clocks of ranks");
        assertThat(page).content().contains("\"label\":\"main\",\"program\":true");
        List<String> names = values(trace, "name");
        assertThat(names).contains("rank 0", "rank 1", "world (gloo)");
        assertThat(names.stream().filter("allReduce(float32 x 2, SUM)"::equals))
                .hasSize(RANKS * CALLS);
        assertThat(names.stream().filter("barrier()"::equals)).hasSize(RANKS);
        assertThat(values(trace, "state")).containsOnly("completed");
    }

    @Test
    void showsWhatWasNotCompleted() throws IOException {
        Files.writeString(
                folder.resolve("rank5.world.test.json"),
                """
                {"version": "jccl 1", "rank": 5, "time_written_ns": 5000,
                 "pg_config": {"world": {"name": "world", "desc": "test", "ranks": "[5]"}},
                 "pg_status": {"world": {"last_enqueued_collective": 7}},
                 "failure": "not complete after 2 s",
                 "entries": [{"process_group": ["world", "test"], "collective_seq_id": 7,
                   "p2p_seq_id": -1, "operation": "barrier()", "bytes": 0,
                   "state": "scheduled", "time_created_ns": 1000}]}
                """);
        Path trace = folder.resolve("trace.json");
        assertThat(Command.jccl("trace", folder.toString(), "-o", trace.toString()).exitCode())
                .isZero();
        assertThat(values(trace, "name")).contains("barrier() not completed", "failed");
        assertThat(values(trace, "failure")).containsExactly("not complete after 2 s");
        assertThat(values(trace, "dur")).containsExactly("4.0");
    }

    @Test
    void operationsThatOverlapGetTheirOwnTracks() throws IOException {
        Files.writeString(
                folder.resolve("rank0.world.test.json"),
                """
                {"rank": 0, "time_written_ns": 9,
                 "pg_config": {"world": {"name": "world", "desc": "test"}},
                 "entries": [
                  {"collective_seq_id": 0, "p2p_seq_id": -1, "operation": "barrier()", "bytes": 0,
                   "state": "completed", "time_created_ns": 1, "time_discovered_completed_ns": 5},
                  {"collective_seq_id": 1, "p2p_seq_id": -1, "operation": "barrier()", "bytes": 0,
                   "state": "completed", "time_created_ns": 2, "time_discovered_completed_ns": 6}]}
                """);
        Path trace = folder.resolve("trace.json");
        assertThat(Command.jccl("trace", folder.toString(), "-o", trace.toString()).exitCode())
                .isZero();
        assertThat(values(trace, "name")).contains("world (test)", "world (test) +1");
    }

    /** A rank may be killed while it writes. */
    @Test
    void recordingsThatCannotBeReadDoNotHideOthers() throws IOException {
        recordBarriers(2, "", 9, 1);
        String whole = Files.readString(folder.resolve("rank2.world.test.json"));
        Files.writeString(
                folder.resolve("rank3.world.test.json"), whole.substring(0, whole.length() / 2));
        Files.writeString(folder.resolve("rank4.world.test.json"), "");
        Files.writeString(folder.resolve("rank5.world.test.json"), "{\"rank\": five}");
        Files.writeString(folder.resolve("rank6.world.test.json"), "{\"rank\": 6}");
        Files.write(folder.resolve("rank7.world.test.json"), new byte[] {-1, -2, 0});
        String trace = folder.resolve("trace.json").toString();
        Command command = Command.jccl("trace", folder.toString(), "-o", trace);
        assertThat(command.exitCode()).isZero();
        assertThat(command.out()).contains("1 operations of 1 ranks");
        assertThat(command.err().lines())
                .hasSize(5)
                .allMatch(line -> line.startsWith("jccl trace: rank"));
        assertThat(command.err())
                .contains(
                        "rank3.world.test.json is ignored: it is cut off in line ",
                        "rank4.world.test.json is ignored: it is empty",
                        "rank5.world.test.json is ignored: it is not JSON in line 1, column ",
                        "rank6.world.test.json is ignored: it is not a recording of JCCL",
                        "rank7.world.test.json is ignored: ")
                .doesNotContain("Exception", "REDACTED");
        Files.delete(folder.resolve("rank2.world.test.json"));
        command = Command.jccl("trace", folder.toString(), "-o", trace);
        assertThat(command.exitCode()).isEqualTo(1);
        assertThat(command.err())
                .contains("rank3.world.test.json is ignored", "no readable recording in");
    }

    @Test
    void saysWhoHasNotCome() throws IOException {
        for (int rank = 0; rank < 2; rank++) {
            Files.writeString(
                    folder.resolve("rank" + rank + ".world.test.json"),
                    """
                    {"rank": %d, "time_written_ns": 9,
                     "pg_config": {"world": {"name": "world", "desc": "test", "ranks": "[0, 1, 2]"}},
                     "entries": [
                      {"collective_seq_id": 0, "p2p_seq_id": -1, "operation": "barrier()", "bytes": 0,
                       "state": "started", "time_created_ns": 1, "time_discovered_started_ns": 1}]}
                    """
                            .formatted(rank));
        }
        String trace = folder.resolve("trace.json").toString();
        assertThat(Command.jccl("trace", folder.toString(), "-o", trace).out())
                .contains(
                        "barrier() of world (test) #0 did not complete: ranks [2] did not reach it");
        Command step = Command.jccl("trace", folder.toString(), "-o", trace, "--step=nothing");
        assertThat(step.exitCode()).isEqualTo(1);
        assertThat(step.err()).contains("no collective has 'nothing' in its text");
        Command html =
                Command.jccl("trace", folder.toString(), "-o", trace, "--html=/no/folder/t.html");
        assertThat(html.exitCode()).isEqualTo(1);
        assertThat(html.err()).contains("/no/folder/t.html");
    }

    private void recordBarriers(int rank, String failure, long written, long... starts)
            throws IOException {
        StringBuilder entries = new StringBuilder();
        for (int i = 0; i < starts.length; i++) {
            entries.append(i == 0 ? "" : ",")
                    .append(
                            """
                            {"collective_seq_id": %d, "p2p_seq_id": -1, "operation": "barrier()",
                             "bytes": 0, "state": "completed", "time_created_ns": %d,
                             "time_discovered_started_ns": 1,
                             "time_discovered_completed_ns": %d}
                            """
                                    .formatted(i, starts[i], (i + 1) * 1_000_000_000L));
        }
        Files.writeString(
                folder.resolve("rank" + rank + ".world.test.json"),
                """
                {"rank": %d, "time_written_ns": %d, "failure": "%s",
                 "pg_config": {"world": {"name": "world", "desc": "test", "ranks": "[0, 1, 2]"}},
                 "entries": [%s]}
                """
                        .formatted(rank, written, failure, entries));
    }

    @Test
    void saysThatTheRunFailedAndWhereFirst() throws IOException {
        recordBarriers(0, "rank 2 reported: disk", 3000);
        recordBarriers(1, "", 9000);
        recordBarriers(2, "the disk is full", 2000);
        String trace = folder.resolve("trace.json").toString();
        assertThat(Command.jccl("trace", folder.toString(), "-o", trace).out())
                .contains("the run failed, first on rank 2 in world (test): the disk is full")
                .contains("groups of ranks [0, 2] failed");
    }

    /** Ranks that only heard of it may write before the rank that had it. */
    @Test
    void theRankThatFailedIsNamedAndNotOneThatHeardOfItFirst() throws IOException {
        recordBarriers(0, "group 'world', rank 0: rank 2 reported: disk", 1000);
        recordBarriers(2, "group 'world', rank 2: the disk is full", 2000);
        String trace = folder.resolve("trace.json").toString();
        assertThat(Command.jccl("trace", folder.toString(), "-o", trace).out())
                .contains("the run failed, first on rank 2 in world (test)");
        recordBarriers(2, "", 2000);
        assertThat(Command.jccl("trace", folder.toString(), "-o", trace).out())
                .contains("the run failed, first noticed by rank 0 in world (test)");
    }

    /** A rank that was killed has written nothing, and may have come last. */
    @Test
    void nobodyIsBlamedWhereARecordingIsMissing() throws IOException {
        recordBarriers(0, "", 9_000_000_000L, 676_400_000L, 1_000_000_000L);
        recordBarriers(1, "", 9_000_000_000L, 0, 1_000_000_000L);
        String trace = folder.resolve("trace.json").toString();
        Path page = folder.resolve("page.html");
        assertThat(
                        Command.jccl(
                                        "trace",
                                        folder.toString(),
                                        "-o",
                                        trace,
                                        "--html",
                                        page.toString())
                                .out())
                .contains("4 operations of 2 ranks", "no recording of ranks [2]")
                .doesNotContain("waited longest", "waited equally long");
        assertThat(page).content().contains("\"rank\":2,\"operations\":0");
    }

    @Test
    void aTieBlamesNobody() throws IOException {
        // Rank 0 is last by 676.4 ms, then rank 1 by 676.3 ms; rank 2 by less.
        recordBarriers(0, "", 9_000_000_000L, 676_400_000L, 1_000_000_000L, 2_000_000_000L);
        recordBarriers(1, "", 9_000_000_000L, 0, 1_676_300_000L, 2_000_000_000L);
        recordBarriers(2, "", 9_000_000_000L, 0, 1_000_000_000L, 2_300_000_000L);
        String trace = folder.resolve("trace.json").toString();
        assertThat(Command.jccl("trace", folder.toString(), "-o", trace).out())
                .contains("no rank stands out: the others waited equally long for ranks [0, 1]")
                .contains("up to 676.400 ms")
                .doesNotContain("the run failed", "waited longest");
        recordBarriers(1, "", 9_000_000_000L, 0, 1_576_300_000L, 2_000_000_000L);
        assertThat(Command.jccl("trace", folder.toString(), "-o", trace).out())
                .contains(
                        "the other ranks waited longest for rank 0: last in 1 collectives, 676.400 ms");
    }

    @Test
    void saysWhenThereIsNothing() {
        Command command = Command.jccl("trace", folder.toString());
        assertThat(command.exitCode()).isEqualTo(1);
        assertThat(command.err()).contains("no recording in " + folder, "JCCL_TRACE_DIR");
    }

    @Test
    void saysWhenTheFolderIsNone() {
        Path missing = folder.resolve("missing");
        Command command = Command.jccl("trace", missing.toString());
        assertThat(command.exitCode()).isEqualTo(1);
        assertThat(command.err()).contains(missing + " is not a folder", "JCCL_TRACE_DIR");
    }

    @Test
    void namesTheFileThatIsNoRecording() throws IOException {
        Files.writeString(folder.resolve("rank0.x.json"), "{\"rank\": 0}");
        Command command = Command.jccl("trace", folder.toString());
        assertThat(command.exitCode()).isEqualTo(1);
        assertThat(command.err()).contains("rank0.x.json", "not a recording of JCCL");
    }

    private static List<String> values(Path file, String field) throws IOException {
        List<String> values = new ArrayList<>();
        try (JsonParser json = new JsonFactory().createParser(file.toFile())) {
            while (json.nextToken() != null) {
                if (json.currentToken().isScalarValue() && field.equals(json.currentName())) {
                    values.add(json.getText());
                }
            }
        }
        return values;
    }
}
