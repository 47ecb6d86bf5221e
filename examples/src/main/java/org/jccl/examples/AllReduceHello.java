package org.jccl.examples;

import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;

/** Every rank gives rank + 1 and prints the sum: 10 with 4 ranks. */
final class AllReduceHello {
    public static void main(String[] args) {
        try (ProcessGroup world = ProcessGroup.init("gloo");
                Tensor x = Tensor.copyOf(new float[] {world.rank() + 1})) {
            world.allReduce(x, ReduceOp.SUM).await();
            System.out.println("rank " + world.rank() + ": " + x.copyTo(new float[1])[0]);
        }
    }
}
