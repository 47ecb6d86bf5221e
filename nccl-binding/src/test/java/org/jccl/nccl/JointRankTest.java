package org.jccl.nccl;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.jccl.DataType;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Store;
import org.jccl.Tensor;
import org.jccl.store.TcpStore;
import org.jccl.store.TcpStoreServer;
import org.jccl.testing.ChildJvm;
import org.junit.jupiter.api.Test;

/** The Java side of the joint communicator, with this process in the place of PyTorch. */
final class JointRankTest {

    private static final String PORT = "jccl.test.port";
    private static final Duration TIMEOUT = Duration.ofSeconds(60);

    /** Takes the port from a property. */
    static final class RankZero {

        private RankZero() {}

        public static void main(String[] arguments) {
            JointRank.main(new String[] {System.getProperty(PORT)});
        }
    }

    @Test
    void rankZeroMeetsTheOtherThroughAStore() throws Exception {
        try (TcpStoreServer server = TcpStoreServer.bind(new InetSocketAddress("127.0.0.1", 0))) {
            CompletableFuture<String> rankZero =
                    CompletableFuture.supplyAsync(
                            () -> rankZero(server.port()), task -> new Thread(task).start());
            try (Store store = TcpStore.connect("127.0.0.1", server.port(), TIMEOUT);
                    ProcessGroup group = JointRank.join(store, 1);
                    Tensor tensor = Tensor.allocate(World.gpu(1), DataType.FLOAT32, 2)) {
                tensor.copyFrom(new float[] {2, 20});
                group.allReduce(tensor, ReduceOp.SUM).synchronize();
                assertThat(tensor.copyTo(new float[2])).containsExactly(3, 30);
                tensor.copyFrom(new float[] {7, 8});
                group.broadcast(tensor, 1).synchronize();
                assertThat(store.get("0//cuda//0")).hasSize(128);
                assertThat(rankZero.get()).contains("Java rank 0: all right");
            }
        }
    }

    private static String rankZero(int port) {
        try {
            return ChildJvm.outputOf(RankZero.class, Map.of(), "-D" + PORT + "=" + port);
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }
}
