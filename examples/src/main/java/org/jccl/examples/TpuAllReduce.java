package org.jccl.examples;

import java.util.Arrays;
import java.util.Map;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.bootstrap.ClusterEnvironment;
import org.jccl.ranktable.RankTable;

/**
 * Sums four ones over the TPUs of a rank table, as the walk-through of Sophgo's guide does in
 * Python:
 *
 * <pre>{@code
 * export RANK_TABLE_FILE=table.json
 * jccl ranktable generate --device_id "[[0,1,2,3,4,5,6,7]]"
 * jccl run --nproc-per-node 8 -- java ... org.jccl.examples.TpuAllReduce
 * }</pre>
 *
 * <p>Without a table, ranks take the TPUs of their host in order.
 */
final class TpuAllReduce {

    private static final int COUNT = 4;

    private TpuAllReduce() {}

    public static void main(String[] args) {
        Device tpu = new Device("tpu", deviceIndex(System.getenv()));
        try (ProcessGroup world = ProcessGroup.builder().backend("sccl").device(tpu).build();
                Tensor tensor = Tensor.allocate(tpu, DataType.FLOAT32, COUNT)) {
            tensor.copyFrom(new float[] {1, 1, 1, 1});
            world.allReduce(tensor, ReduceOp.SUM).await();

            float[] results = tensor.copyTo(new float[COUNT]);
            System.out.println("rank: " + world.rank() + ", results: " + Arrays.toString(results));
        }
    }

    private static int deviceIndex(Map<String, String> environment) {
        return RankTable.fromEnvironment(environment)
                .map(table -> table.device(ClusterEnvironment.readFirst(environment).rank()))
                .orElseGet(() -> Integer.parseInt(environment.getOrDefault("LOCAL_RANK", "0")));
    }
}
