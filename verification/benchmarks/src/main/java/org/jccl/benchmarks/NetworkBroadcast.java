package org.jccl.benchmarks;

import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.ProcessGroup;
import org.jccl.Tensor;

/** Broadcasts on MPI, of which {@code script/test-network} counts what leaves the roots. */
public final class NetworkBroadcast {

    private static final int ROOTS = 2;

    private NetworkBroadcast() {}

    /**
     * Joins the world of {@code mpirun}, and broadcasts from rank 0 and from rank 1.
     *
     * @param arguments the number of bytes
     */
    public static void main(String[] arguments) {
        try (ProcessGroup world = ProcessGroup.init("mpi");
                Tensor data =
                        Tensor.allocate(
                                Device.CPU, DataType.INT8, Integer.parseInt(arguments[0]))) {
            for (int root = 0; root < ROOTS; root++) {
                world.sync().broadcast(data, root);
            }
            world.sync().barrier();
        }
    }
}
