package org.jccl.examples;

import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;

/** Every rank gives rank + 1 and prints the sum: 10 with 4 ranks. An argument names the backend. */
final class AllReduceHello {
    public static void main(String[] args) {
        String backend = args.length == 0 ? "gloo" : args[0];
        try (ProcessGroup world = ProcessGroup.init(backend);
                Tensor x = Tensor.copyOf(new float[] {world.rank() + 1})) {
            world.sync().allReduce(x, ReduceOp.SUM);
            System.out.println("rank " + world.rank() + ": " + x.copyTo(new float[1])[0]);
        }
    }
}
