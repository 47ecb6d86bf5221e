package org.jccl.nccl;

import java.time.Duration;
import org.jccl.Device;
import org.jccl.Interop;
import org.jccl.JcclException;
import org.jccl.ProcessGroup;
import org.jccl.conformance.TorchCollectives;

/** The rank of Java in the worlds of the hardware test's {@code torch_world.py}. */
final class TorchWorldRank {

    private static final String DEATH = "death";

    private TorchWorldRank() {}

    /**
     * Takes part in one world; fails by an exception.
     *
     * @param arguments the mode, the backend, this rank, and the port of the store on this host
     */
    public static void main(String[] arguments) {
        String mode = arguments[0];
        boolean onGpu = arguments[1].equals("nccl");
        int rank = Integer.parseInt(arguments[2]);
        int port = Integer.parseInt(arguments[3]);
        // Device 0 is both the first rank's and the one to share.
        run(mode, onGpu ? World.GPU : Device.CPU, rank, port);
        System.out.println("the world is closed");
    }

    /** On the host with Gloo, elsewhere with NCCL. */
    static void run(String mode, Device device, int rank, int port) {
        long start = System.nanoTime();
        try (ProcessGroup group = join(mode, device, rank, port)) {
            System.out.printf("the world has formed in %.1f s%n", secondsSince(start));
            if (mode.equals(DEATH)) {
                losesItsPeer(group, device);
                return;
            }
            TorchCollectives.run(group, device);
            if (mode.equals("both") && !device.isCpu()) {
                TorchCollectives.runOnHost(group);
            }
            System.out.println("every result is right");
        }
    }

    private static ProcessGroup join(String mode, Device device, int rank, int port) {
        String backend = device.isCpu() ? "gloo" : "nccl";
        return ProcessGroup.builder()
                .backend(mode.equals("both") && !device.isCpu() ? "cpu:gloo,cuda:nccl" : backend)
                .initMethod("tcp://127.0.0.1:" + port)
                .rank(rank)
                .worldSize(2)
                .device(device)
                .timeout(timeout(device))
                .interop(
                        mode.equals("eager") && !device.isCpu()
                                ? Interop.TORCH_EAGER
                                : Interop.TORCH)
                .build();
    }

    private static void losesItsPeer(ProcessGroup group, Device device) {
        TorchCollectives.sumOnce(group, device);
        long start = System.nanoTime();
        try {
            TorchCollectives.sumOnce(group, device);
        } catch (JcclException e) {
            double seconds = secondsSince(start);
            System.out.printf("failed after %.1f s: %s%n", seconds, e);
            if (seconds < timeout(device).toSeconds() + 5) {
                return;
            }
        }
        throw new AssertionError("the loss of the peer was not noticed in time");
    }

    /** On the host this runs among other tests, where starting Python may take long. */
    private static Duration timeout(Device device) {
        return Duration.ofSeconds(device.isCpu() ? 90 : 30);
    }

    private static double secondsSince(long start) {
        return (System.nanoTime() - start) / 1e9;
    }
}
