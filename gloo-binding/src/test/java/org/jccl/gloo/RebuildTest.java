package org.jccl.gloo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.jccl.testing.Patience.enough;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.jccl.Interop;
import org.jccl.ProcessGroup;
import org.jccl.ProcessGroupBuilder;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.UsageException;
import org.jccl.launch.ProcessLauncher;
import org.jccl.store.HashStore;
import org.jccl.testing.ChildJvm;
import org.jccl.testing.FreePort;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The documented recovery: a world is built again in the same processes. */
@Execution(ExecutionMode.CONCURRENT)
@Timeout(300)
@Tag("all")
class RebuildTest {

    private static final int RANKS = 3;
    private static final int WORLDS = 50;
    private static final Duration LIMIT = enough(Duration.ofMinutes(4));

    /** Builds world after world; who is late differs, and how a world ends. */
    static final class Main {

        private Main() {}

        public static void main(String[] arguments) throws InterruptedException {
            String how = arguments[0];
            int rank = Integer.parseInt(System.getenv("RANK"));
            Random pauses = new Random(rank);
            for (int i = 0; i < Integer.parseInt(arguments[2]); i++) {
                int late = i % (2 * RANKS);
                if (late == rank) {
                    Thread.sleep(pauses.nextInt(100)); // be the last one, as rank 0 is at first
                }
                ProcessGroup world = builder(arguments[1], rank).build();
                FloatBuffer values =
                        ByteBuffer.allocateDirect(2 * Float.BYTES)
                                .order(ByteOrder.nativeOrder())
                                .asFloatBuffer()
                                .put(0, rank + i)
                                .put(1, 1);
                world.allReduce(Tensor.of(values), ReduceOp.SUM).await();
                if (values.get(0) != 0 + 1 + 2 + RANKS * i || values.get(1) != RANKS) {
                    throw new AssertionError("world " + i + ": " + values.get(0));
                }
                boolean abort = how.equals("abort") || how.equals("mixed") && (i + rank) % 2 == 0;
                if (abort) {
                    world.abort();
                }
                if (!abort || i % 3 > 0) {
                    world.close();
                }
            }
            System.out.println("done");
            System.exit(0);
        }

        private static ProcessGroupBuilder builder(String initMethod, int rank) {
            ProcessGroupBuilder builder =
                    ProcessGroup.builder()
                            .backend("gloo")
                            .initMethod(initMethod)
                            .timeout(enough(Duration.ofSeconds(60)));
            return initMethod.startsWith("env") ? builder : builder.rank(rank).worldSize(RANKS);
        }
    }

    private static void run(String how, String initMethod, int worlds) {
        Queue<String> lines = new ConcurrentLinkedQueue<>();
        ProcessLauncher.builder(RANKS)
                .mainClass(Main.class, how, initMethod, Integer.toString(worlds))
                .jvmArguments(ChildJvm.shortLived())
                .timeout(LIMIT)
                .output((rank, error, line) -> lines.add(line))
                .build()
                .run();
        assertThat(lines.stream().filter(line -> line.equals("done"))).hasSize(RANKS);
    }

    @ParameterizedTest
    @ValueSource(strings = {"close", "abort", "mixed"})
    void underALauncherWhoseStoreStays(String how) {
        run(how, "env://", WORLDS);
    }

    @Test
    void whereRankZeroServesTheStore() throws IOException {
        int port = FreePort.next();
        run("close", "tcp://127.0.0.1:" + port, 20);
    }

    @Test
    void overAFile(@TempDir Path directory) {
        run("close", "file://" + directory.resolve("store"), 10);
    }

    @Test
    void twoWorldsWithPytorchsKeysInOneStoreAreRefused() {
        HashStore store = HashStore.create(enough(Duration.ofSeconds(30)));
        ProcessGroupBuilder builder =
                ProcessGroup.builder()
                        .backend("gloo")
                        .interop(Interop.TORCH)
                        .store(store)
                        .rank(0)
                        .worldSize(1);
        builder.build().close();
        assertThatThrownBy(builder::build)
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("a store of its own");
    }
}
