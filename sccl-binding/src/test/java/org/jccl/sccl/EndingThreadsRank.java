package org.jccl.sccl;

import java.util.Arrays;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;

/**
 * A rank of a job that {@code script/test-sccl} runs on Sophgo's own runtime. Threads reduce and
 * end. That runtime looks for threads that have ended every half second.
 */
final class EndingThreadsRank {

    private static final int THREADS = 3;
    private static final long LONGER_THAN_THE_CHECK = 1500;

    private EndingThreadsRank() {}

    public static void main(String[] arguments) throws InterruptedException {
        Device tpu =
                new Device(ScclProvider.DEVICE_TYPE, Integer.parseInt(System.getenv("LOCAL_RANK")));
        try (ProcessGroup world = ProcessGroup.builder().backend("sccl").device(tpu).build();
                Tensor tensor = Tensor.allocate(tpu, DataType.FLOAT32, 2)) {
            tensor.copyFrom(new float[] {1, 1});
            for (int i = 0; i < THREADS; i++) {
                Thread user = new Thread(() -> world.allReduce(tensor, ReduceOp.MAX).await());
                user.start();
                user.join();
                Thread.sleep(LONGER_THAN_THE_CHECK);
            }
            world.allReduce(tensor, ReduceOp.SUM).await();
            System.out.println(
                    "rank: "
                            + world.rank()
                            + ", results: "
                            + Arrays.toString(tensor.copyTo(new float[2])));
        }
    }
}
