package org.jccl.benchmarks;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.time.Duration;
import java.util.List;
import org.jccl.GroupAbortedException;
import org.jccl.JcclException;
import org.jccl.OperationTimeoutException;
import org.jccl.PeerLostException;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;

/**
 * A rank of {@code script/test-network} in a job that replaces lost ranks: adds numbers up with the
 * others, checks each sum, and continues in the next generation when a rank is lost or comes back.
 */
public final class ReplacedNetworkRank {

    private static final int COUNT = 4096;

    /** The first elements say whether this was the last call, and whether ranks wait. */
    private static final int FLAGS = 2;

    private static final int MINIMUM = 2;

    private ReplacedNetworkRank() {}

    /**
     * Runs the rank that the environment says.
     *
     * @param args the group's timeout, how long to wait for lost ranks, and for how long to go on,
     *     in seconds
     */
    public static void main(String[] args) {
        Duration patience = Duration.ofSeconds(Long.parseLong(args[1]));
        try {
            ProcessGroup group =
                    ProcessGroup.builder()
                            .backend("gloo")
                            .timeout(Duration.ofSeconds(Long.parseLong(args[0])))
                            .reconfigurable(MINIMUM)
                            .build();
            while (!sums(group, Double.parseDouble(args[2]))) {
                ProcessGroup next = group.reconfigure(patience);
                group.close();
                group = next;
            }
            group.close();
            NetworkRank.tell("all right");
        } catch (JcclException e) {
            NetworkRank.tell(e.getClass().getSimpleName() + ": " + e.getMessage());
            System.exit(e.exitCode());
        }
    }

    /** Returns whether the job is done; otherwise another generation is needed. */
    private static boolean sums(ProcessGroup group, double goOn) {
        List<Integer> members = group.worldRanks();
        FloatBuffer data =
                ByteBuffer.allocateDirect(COUNT * Float.BYTES)
                        .order(ByteOrder.nativeOrder())
                        .asFloatBuffer();
        try {
            for (int calls = 0; true; calls++) {
                boolean first = group.rank() == 0;
                data.put(0, first && NetworkRank.seconds() > goOn ? 1 : 0);
                data.put(1, first && group.hasNewcomers() ? 1 : 0);
                for (int i = FLAGS; i < COUNT; i++) {
                    data.put(i, members.get(group.rank()) + i);
                }
                group.sync().allReduce(Tensor.of(data), ReduceOp.SUM);
                int ranks = members.stream().mapToInt(Integer::intValue).sum();
                for (int i = FLAGS; i < COUNT; i++) {
                    if (data.get(i) != ranks + (float) members.size() * i) {
                        NetworkRank.tell("WRONG at " + i + ": " + data.get(i));
                        System.exit(64);
                    }
                }
                if (calls == 0) {
                    NetworkRank.tell("first sum of ranks " + members);
                }
                if (data.get(0) != 0) {
                    return true;
                }
                if (data.get(1) != 0) {
                    return false;
                }
            }
        } catch (PeerLostException | OperationTimeoutException | GroupAbortedException e) {
            NetworkRank.tell("lost: " + e.getClass().getSimpleName());
            return false;
        }
    }
}
