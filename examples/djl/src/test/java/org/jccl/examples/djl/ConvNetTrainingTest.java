package org.jccl.examples.djl;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.jccl.cli.Jccl;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledIfSystemProperty;

/** The program as users start it: {@code jccl run}. */
@DisabledIfSystemProperty(
        named = "jccl.test.all",
        matches = "nothing",
        disabledReason = "script/test --all runs it")
class ConvNetTrainingTest {

    @Test
    void fourRanksTrainOneNetwork() throws Exception {
        String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
        String classPath = System.getProperty("java.class.path");
        Process run =
                new ProcessBuilder(
                                java,
                                "-cp",
                                classPath,
                                Jccl.class.getName(),
                                "run",
                                "-n",
                                "4",
                                "--",
                                java,
                                "-XX:TieredStopAtLevel=1",
                                "-Dai.djl.pytorch.num_threads=1",
                                "-Dai.djl.offline=true",
                                "-DDJL_CACHE_DIR=" + System.getProperty("DJL_CACHE_DIR"),
                                "-cp",
                                classPath,
                                ConvNetTraining.class.getName())
                        .redirectErrorStream(true)
                        .start();
        String said = new String(run.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(run.waitFor()).as(said).isZero();
        for (int rank = 0; rank < 4; rank++) {
            assertThat(said).contains("rank " + rank + ": 2730 weights are the same bits on all 4");
        }
        assertThat(said).contains("PASSED").containsPattern("test accuracy 9\\d\\.\\d %");
    }
}
