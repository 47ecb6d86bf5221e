package org.jccl.gloo;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.time.Duration;
import org.jccl.Interop;
import org.jccl.ProcessGroup;

/** A world of Java and Python ranks. */
final class TorchWorld {

    private TorchWorld() {}

    /** An init method on a free port. */
    static String store() throws IOException {
        try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return "tcp://127.0.0.1:" + free.getLocalPort();
        }
    }

    static ProcessGroup join(String store, int rank, int world, Duration timeout) {
        return ProcessGroup.builder()
                .backend("gloo")
                .interop(Interop.TORCH)
                .initMethod(store)
                .rank(rank)
                .worldSize(world)
                .timeout(timeout)
                .build();
    }
}
