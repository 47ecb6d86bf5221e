package org.jccl.nccl;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.jccl.testing.FreePort;
import org.jccl.testing.TorchPython;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The worlds of the hardware test that are of PyTorch and of Java, without a GPU: on the host they
 * are as there, and on the mock library both ranks are Java's.
 */
@Tag("all")
final class TorchWorldTest {

    private static final Path SCRIPT =
            Path.of("..", "script", "hardware", "nccl", "torch_world.py");

    @Test
    void aRankOfPyTorchAndOneOfJavaShareTheHost() throws Exception {
        List<String> command = new ArrayList<>();
        command.addAll(List.of(TorchPython.require(), "-W", "ignore", SCRIPT.toString()));
        command.addAll(List.of("--backend", "gloo", "--modes", "lazy-0,both-1,death-0,death-1"));
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(List.of("-cp", System.getProperty("java.class.path")));
        command.add(TorchWorldRank.class.getName());
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
        builder.environment().put("TORCH_CPP_LOG_LEVEL", "ERROR");
        Process process = builder.start();
        try {
            String output =
                    new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            assertThat(output).endsWith("4 of 4 modes passed\n");
            assertThat(process.waitFor()).isZero();
        } finally {
            process.descendants().forEach(ProcessHandle::destroyForcibly);
            process.destroyForcibly();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"lazy", "eager", "both"})
    void twoRanksOfJavaDoTheSameOnDevices(String mode) throws Exception {
        int port = FreePort.next();
        ExecutorService threads = Executors.newFixedThreadPool(2);
        try {
            List<Future<?>> ranks = new ArrayList<>();
            for (int i = 0; i < 2; i++) {
                int rank = i;
                ranks.add(
                        threads.submit(
                                () -> TorchWorldRank.run(mode, World.gpu(rank), rank, port)));
            }
            for (Future<?> rank : ranks) {
                rank.get();
            }
        } finally {
            threads.shutdownNow();
        }
    }
}
