package example;

import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.launch.ProcessLauncher;

public class App {
    public static void main(String[] args) {
        if (System.getenv("RANK") == null) {
            ProcessLauncher.spawn(4, App.class);
            return;
        }
        try (ProcessGroup world = ProcessGroup.init("gloo");
                Tensor x = Tensor.copyOf(new float[] {world.rank() + 1})) {
            world.sync().allReduce(x, ReduceOp.SUM);
            System.out.println("sum " + x.copyTo(new float[1])[0]);
        }
    }
}
