package org.jccl.nccl;

import java.time.Duration;
import org.jccl.DataType;
import org.jccl.Interop;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Store;
import org.jccl.Tensor;
import org.jccl.store.TcpStore;

/** Rank 0 of a communicator whose rank 1 is PyTorch: see the smoke test's torch_joint.py. */
final class JointRank {

    private static final Duration TIMEOUT = Duration.ofSeconds(60);

    private JointRank() {}

    /**
     * Joins and checks; fails by an exception.
     *
     * @param arguments the port of PyTorch's store on this host
     */
    public static void main(String[] arguments) {
        int port = Integer.parseInt(arguments[0]);
        try (Store store = TcpStore.connect("127.0.0.1", port, TIMEOUT);
                // Device 0 is both the first rank's and the one to share.
                ProcessGroup group = join(store, 0);
                Tensor onDevice = Tensor.allocate(World.GPU, DataType.FLOAT32, 2)) {
            onDevice.copyFrom(new float[] {1, 10});
            group.allReduce(onDevice, ReduceOp.SUM).synchronize();
            expect("allReduce", onDevice.copyTo(new float[2]), 3, 30);
            group.broadcast(onDevice, 1).synchronize();
            expect("broadcast from Python", onDevice.copyTo(new float[2]), 7, 8);
            System.out.println("Java rank 0: all right");
        }
    }

    /** A rank of two; the other may be PyTorch's. */
    static ProcessGroup join(Store store, int rank) {
        return ProcessGroup.builder()
                .backend("nccl")
                .device(World.gpu(rank))
                .store(store)
                .rank(rank)
                .worldSize(2)
                .timeout(TIMEOUT)
                .interop(Interop.TORCH)
                .build();
    }

    private static void expect(String what, float[] found, float first, float second) {
        if (found[0] != first || found[1] != second) {
            throw new AssertionError(
                    what + " gave " + found[0] + ", " + found[1] + " for " + first + ", " + second);
        }
    }
}
