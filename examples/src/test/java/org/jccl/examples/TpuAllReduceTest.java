package org.jccl.examples;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The walk-through on mocks: a table made by the command line, eight ranks started by it. */
class TpuAllReduceTest {

    private static final int RANKS = 8;

    @TempDir private Path folder;

    private String jccl(Map<String, String> environment, String... arguments)
            throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(java("org.jccl.cli.Jccl"));
        command.addAll(List.of(arguments));
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
        String mocks = System.getProperty("jccl.mocks.sccl");
        // The other two libraries are found beside the first.
        builder.environment()
                .putAll(
                        Map.of(
                                "JCCL_SCCL_TPUDNN",
                                mocks + "/libtpudnn.sg2260.so",
                                "MOCK_DEVICES",
                                String.valueOf(RANKS),
                                "MOCK_DELAY_US",
                                "200"));
        builder.environment().putAll(environment);
        Process process = builder.start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).as(output).isZero();
        return output;
    }

    private static List<String> java(String mainClass) {
        return List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-cp",
                System.getProperty("java.class.path"),
                mainClass);
    }

    @Test
    void everyRankPrintsTheSum() throws Exception {
        Map<String, String> table =
                Map.of("RANK_TABLE_FILE", folder.resolve("table.json").toString());
        jccl(table, "ranktable", "generate", "--device_id", "[[0,1,2,3,4,5,6,7]]");
        expectSums(table);
    }

    @Test
    void withoutATableRanksTakeTheTpusInOrder() throws Exception {
        expectSums(Map.of());
    }

    private void expectSums(Map<String, String> environment) throws Exception {
        List<String> run = new ArrayList<>(List.of("run", "--nproc-per-node", "" + RANKS, "--"));
        run.addAll(java(TpuAllReduce.class.getName()));
        String output = jccl(environment, run.toArray(new String[0]));
        for (int rank = 0; rank < RANKS; rank++) {
            assertThat(output).contains("rank: " + rank + ", results: [8.0, 8.0, 8.0, 8.0]");
        }
    }
}
