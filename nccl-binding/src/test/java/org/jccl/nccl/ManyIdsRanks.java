package org.jccl.nccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.jccl.testing.Patience.enough;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.jccl.DataType;
import org.jccl.Interop;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;

/**
 * The Java ranks of a world in which one rank is not, as threads of a process of their own, in
 * whose environment {@code TORCH_NCCL_RANKS_PER_ROOT} is set.
 */
final class ManyIdsRanks {

    /** A variable with the interop, the rank that is not Java's, the number of ranks, the port. */
    static final String ARGUMENTS = "MANY_IDS_RANKS";

    private ManyIdsRanks() {}

    /** Runs the ranks. */
    public static void main(String[] none) throws Exception {
        String[] arguments = System.getenv(ARGUMENTS).split(" ");
        Interop interop = Interop.valueOf(arguments[0]);
        int without = Integer.parseInt(arguments[1]);
        int world = Integer.parseInt(arguments[2]);
        int port = Integer.parseInt(arguments[3]);
        ExecutorService threads = Executors.newFixedThreadPool(world);
        List<Future<?>> ranks = new ArrayList<>();
        for (int i = 0; i < world; i++) {
            if (i != without) {
                int rank = i;
                ranks.add(threads.submit(() -> run(interop, rank, world, port)));
            }
        }
        for (Future<?> rank : ranks) {
            rank.get();
        }
        threads.shutdown();
        System.out.println("ok");
    }

    private static Void run(Interop interop, int rank, int world, int port)
            throws InterruptedException {
        try (ProcessGroup group =
                        ProcessGroup.builder()
                                .backend("nccl")
                                .initMethod("tcp://127.0.0.1:" + port)
                                .rank(rank)
                                .worldSize(world)
                                .interop(interop)
                                .device(World.gpu(rank))
                                .timeout(enough(Duration.ofSeconds(60)))
                                .build();
                Tensor x = Tensor.allocate(World.gpu(rank), DataType.FLOAT32, 1)) {
            x.copyFrom(new float[] {rank + 1});
            group.allReduce(x, ReduceOp.SUM).synchronize();
            assertThat(x.copyTo(new float[1])[0]).isEqualTo(world * (world + 1) / 2f);
            TorchPeerTest.awaitOthers(rank, world, port);
        }
        return null;
    }
}
