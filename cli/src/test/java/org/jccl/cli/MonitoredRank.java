package org.jccl.cli;

import java.nio.file.Files;
import java.nio.file.Path;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;

/** Sums again and again until it is told to end. */
final class MonitoredRank {

    private MonitoredRank() {}

    /**
     * Joins and sums.
     *
     * @param arguments a file; when it is there, the job ends
     * @throws InterruptedException never
     */
    public static void main(String[] arguments) throws InterruptedException {
        Path end = Path.of(arguments[0]);
        try (ProcessGroup world = ProcessGroup.init("gloo");
                Tensor tensor = Tensor.allocate(Device.CPU, DataType.FLOAT32, 1024);
                Tensor over = Tensor.allocate(Device.CPU, DataType.INT32, 1)) {
            do {
                world.sync().allReduce(tensor, ReduceOp.SUM);
                over.copyFrom(new int[] {Files.exists(end) ? 1 : 0});
                world.sync().allReduce(over, ReduceOp.MAX);
                Thread.sleep(5);
            } while (over.copyTo(new int[1])[0] == 0);
        }
    }
}
