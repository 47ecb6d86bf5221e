package org.jccl.gloo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.jccl.testing.Patience.enough;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.testing.ChildJvm;
import org.jccl.testing.FreePort;
import org.junit.jupiter.api.Test;

/**
 * The agents of torchrun do not count restarts alike: one whose rank failed counts it, one that
 * restarts its ranks because a node waits for a new world does not.
 */
class RestartCountTest {

    private static final int RANKS = 2;

    /** One rank, by torchrun's variables. */
    static final class Rank {
        private Rank() {}

        public static void main(String[] arguments) {
            try (ProcessGroup world =
                            ProcessGroup.builder()
                                    .backend("gloo")
                                    .joinTimeout(enough(Duration.ofSeconds(20)))
                                    .build();
                    Tensor x = Tensor.copyOf(new float[] {world.rank() + 1})) {
                world.sync().allReduce(x, ReduceOp.SUM);
                System.out.println("sum " + x.copyTo(new float[1])[0]);
            }
        }
    }

    @Test
    void agentsMayDisagreeOnTheNumberOfRestarts() throws Exception {
        int port = FreePort.next();
        List<CompletableFuture<String>> ranks = new ArrayList<>();
        for (int rank = 0; rank < RANKS; rank++) {
            Map<String, String> environment =
                    Map.of(
                            "RANK", Integer.toString(rank),
                            "WORLD_SIZE", Integer.toString(RANKS),
                            "LOCAL_RANK", "0",
                            "LOCAL_WORLD_SIZE", "1",
                            "MASTER_ADDR", "127.0.0.1",
                            "MASTER_PORT", Integer.toString(port),
                            "TORCHELASTIC_RUN_ID", "agents",
                            "TORCHELASTIC_RESTART_COUNT", Integer.toString(1 - rank),
                            "TORCHELASTIC_USE_AGENT_STORE", "False");
            ranks.add(
                    CompletableFuture.supplyAsync(
                            () -> run(environment), each -> new Thread(each).start()));
        }
        for (CompletableFuture<String> rank : ranks) {
            assertThat(rank.get(100, TimeUnit.SECONDS)).contains("sum 3.0");
        }
    }

    private static String run(Map<String, String> environment) {
        try {
            return ChildJvm.outputOf(Rank.class, environment);
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }
}
