package org.jccl.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.jccl.testing.Patience.enough;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jccl.launch.ProcessLauncher;
import org.jccl.launch.ProcessLauncherBuilder;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The walk-through on mocks of ACL and HCCL, a process a rank. */
class AllReduceOnNpuTest {

    private static List<String> run(String... environment) {
        List<String> lines = new CopyOnWriteArrayList<>();
        String mocks = System.getProperty("jccl.mocks.hccl");
        ProcessLauncherBuilder launcher =
                ProcessLauncher.builder(2)
                        .mainClass(AllReduceOnNpu.class)
                        .environment("JCCL_HCCL_ACL", mocks + "/libascendcl.so")
                        .environment("JCCL_HCCL_LIBRARY", mocks + "/libhccl.so")
                        .environment("MOCK_DELAY_US", "200")
                        .output(
                                (rank, error, line) -> {
                                    if (line.startsWith("rank: ")) {
                                        lines.add(line);
                                    }
                                })
                        .timeout(enough(Duration.ofSeconds(90)));
        for (int i = 0; i < environment.length; i += 2) {
            launcher.environment(environment[i], environment[i + 1]);
        }
        launcher.build().run();
        return lines;
    }

    private static void expectSums(List<String> lines) {
        assertThat(lines)
                .containsExactlyInAnyOrder(
                        "rank: 0, [1.0, 1.0, 1.0, 1.0]",
                        "rank: 1, [1.0, 1.0, 1.0, 1.0]",
                        "rank: 0, results: [2.0, 2.0, 2.0, 2.0]",
                        "rank: 1, results: [2.0, 2.0, 2.0, 2.0]");
    }

    @Test
    void ranksMeetThroughTheStore() {
        expectSums(run());
    }

    @Test
    void ranksMeetByARankTable(@TempDir Path folder) throws Exception {
        Path table = folder.resolve("ranks.json");
        // The devices are in another order than the ranks, so that the table counts.
        Files.writeString(
                table,
                """
                { "version": "1.0", "status": "completed", "server_count": "1",
                  "server_list": [
                    { "server_id": "127.0.0.1", "device": [
                      { "device_id": "3", "device_ip": "192.168.40.13", "rank_id": "0" },
                      { "device_id": "2", "device_ip": "192.168.40.12", "rank_id": "1" } ] } ] }
                """);
        expectSums(run("RANK_TABLE_FILE", table.toString()));
    }
}
