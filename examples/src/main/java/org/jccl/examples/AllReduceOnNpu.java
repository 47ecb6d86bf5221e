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
 * all_reduce on Ascend devices with HCCL: each rank has four ones and prints them before and after.
 * Start it with {@code jccl run}. If {@code RANK_TABLE_FILE} is set, the rank table gives the
 * devices and addresses of the ranks. Otherwise ranks use the devices of their host in order, and
 * find each other through the store.
 */
final class AllReduceOnNpu {

    private static final int ELEMENTS = 4;

    private AllReduceOnNpu() {}

    public static void main(String[] args) {
        Device npu = new Device("npu", deviceIndex(System.getenv()));
        try (ProcessGroup world = ProcessGroup.builder().backend("hccl").device(npu).build();
                Tensor tensor = Tensor.allocate(npu, DataType.FLOAT32, ELEMENTS)) {
            tensor.copyFrom(new float[] {1, 1, 1, 1});
            print(world, "", tensor);
            world.allReduce(tensor, ReduceOp.SUM).await();
            print(world, "results: ", tensor);
        }
    }

    private static int deviceIndex(Map<String, String> environment) {
        // A container numbers the devices that it is given from 0.
        boolean isContainer = environment.containsKey("ASCEND_VISIBLE_DEVICES");
        return RankTable.fromEnvironment(isContainer ? Map.of() : environment)
                .map(table -> table.device(ClusterEnvironment.readFirst(environment).rank()))
                .orElseGet(() -> Integer.parseInt(environment.getOrDefault("LOCAL_RANK", "0")));
    }

    private static void print(ProcessGroup world, String what, Tensor tensor) {
        float[] values = tensor.copyTo(new float[ELEMENTS]);
        System.out.println("rank: " + world.rank() + ", " + what + Arrays.toString(values));
    }
}
