package org.jccl.examples;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jccl.ProcessGroup;
import org.jccl.testing.FreePort;
import org.jccl.testing.TorchPython;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Nodes that come and go under PyTorch's own torchrun: two agents of two ranks each. */
@Timeout(400)
@Tag("all")
class ElasticTrainingTest {

    private static final int EPOCHS = 6;

    /** An epoch of each of the first two worlds, in which its ranks wait for the next one. */
    private static final int ALONE_UNTIL = 2;

    private static final int TOGETHER_UNTIL = 4;
    private static final int PAUSE = 50;

    @TempDir private Path folder;

    private final List<Process> agents = new ArrayList<>();
    private final BlockingQueue<String> lines = new LinkedBlockingQueue<>();
    private final List<String> seen = new ArrayList<>();
    private final int port = FreePort.next();

    ElasticTrainingTest() throws IOException {}

    @AfterEach
    void killWhatIsLeft() {
        agents.forEach(ElasticTrainingTest::kill);
    }

    /** A rank that waits for a node that comes, and then for its loss. */
    static final class Held {
        private Held() {}

        public static void main(String[] arguments) {
            ElasticTraining.run(
                    arguments,
                    (world, epoch) -> {
                        while (isHeld(world, epoch)) {
                            world.sync().barrier();
                            sleep();
                        }
                    });
        }

        private static boolean isHeld(ProcessGroup world, int epoch) {
            return epoch == (world.size() == 2 ? ALONE_UNTIL : TOGETHER_UNTIL);
        }

        private static void sleep() {
            try {
                Thread.sleep(PAUSE);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    private Process agent() throws IOException {
        String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
        List<String> command = new ArrayList<>();
        command.addAll(List.of(TorchPython.require(), "-m", "torch.distributed.run"));
        command.addAll(List.of("--nnodes", "1:2", "--nproc-per-node", "2", "--max-restarts", "3"));
        command.addAll(List.of("--rdzv-backend", "c10d", "--rdzv-id", "elastic"));
        command.addAll(List.of("--rdzv-endpoint", "127.0.0.1:" + port));
        command.addAll(List.of("--local-addr", "127.0.0.1", "--rdzv-conf"));
        command.add("last_call_timeout=3,keep_alive_interval=1,keep_alive_max_attempt=5");
        command.addAll(List.of("--no-python", java, "-XX:TieredStopAtLevel=1", "-Xmx256m"));
        command.addAll(List.of("-cp", System.getProperty("java.class.path")));
        command.addAll(List.of(Held.class.getName(), "--epochs", Integer.toString(EPOCHS)));
        command.addAll(List.of("--checkpoint", folder.resolve("checkpoint").toString()));
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
        // Without it, a node that joins a running job waits for an address that nobody publishes.
        builder.environment().put("TORCH_DISABLE_SHARE_RDZV_TCP_STORE", "1");
        Process agent = builder.start();
        agents.add(agent);
        Thread reader = new Thread(() -> read(agent));
        reader.setDaemon(true);
        reader.start();
        return agent;
    }

    private void read(Process agent) {
        try (BufferedReader output = agent.inputReader()) {
            output.lines().forEach(lines::add);
        } catch (UncheckedIOException | IOException e) {
            lines.add(e.toString());
        }
    }

    /** Kills an agent and its ranks, as the loss of their host does. */
    private static void kill(Process agent) {
        List<ProcessHandle> all = agent.descendants().toList();
        agent.destroyForcibly();
        all.forEach(ProcessHandle::destroyForcibly);
    }

    private void await(String text) throws InterruptedException {
        for (String line = ""; !line.contains(text); seen.add(line)) {
            line = lines.poll(120, TimeUnit.SECONDS);
            assertThat(line).as("'%s' after %s", text, seen).isNotNull();
        }
    }

    private void endsWell(Process agent) throws InterruptedException {
        boolean ended = agent.waitFor(60, TimeUnit.SECONDS);
        lines.drainTo(seen);
        assertThat(ended).as("ended, after %s", String.join("\n", seen)).isTrue();
        assertThat(agent.exitValue()).as("%s", String.join("\n", seen)).isZero();
    }

    @Test
    void theJobContinuesWithANodeMoreAndWithANodeLess() throws Exception {
        Process first = agent();
        await("2 ranks, from epoch 0");
        await("epoch 2 of 6 saved");
        Process second = agent();
        await("4 ranks, from epoch 2");
        await("epoch 4 of 6 saved");
        kill(second);
        await("2 ranks, from epoch 4");
        await("PASSED");
        endsWell(first);
    }

    /** torchrun starts all ranks again, at most three times. */
    @Test
    void aLostRankStartsAllAgain() throws Exception {
        Process first = agent();
        Process second = agent();
        await("4 ranks, from epoch");
        await("epoch 4 of 6 saved");
        // Fails the ranks of both agents; the world that follows is held no more.
        second.descendants()
                .filter(each -> each.info().command().orElse("").endsWith("java"))
                .findFirst()
                .orElseThrow()
                .destroyForcibly();
        await("ranks, from epoch 4");
        await("PASSED");
        endsWell(first);
        endsWell(second);
    }
}
