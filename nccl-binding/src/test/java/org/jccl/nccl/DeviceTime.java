package org.jccl.nccl;

import java.util.Locale;
import org.jccl.DataType;
import org.jccl.Event;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Stream;
import org.jccl.SyncCollectives;
import org.jccl.Tensor;

/**
 * Device time of one allReduce on one rank and the host's time to enqueue it, for the hardware
 * smoke test, which compares them with the same in C (device_time.cc). Prints {@code BYTES DEVICE
 * HOST} in microseconds for each size.
 */
final class DeviceTime {

    private static final long SMALLEST = 4;
    private static final long LARGEST = 64 << 20;
    private static final int FACTOR = 16;
    private static final int COMPILED_AFTER = 20_000;
    private static final int WARM_UPS = 10;
    private static final int ROUNDS = 5;

    /**
     * Of the largest size, before each round: the device is busy until all calls of the round are
     * enqueued. Otherwise the small ones would wait for the host, and not for each other.
     */
    private static final int CALLS_BEFORE = 10;

    /** A sum of one rank in place is no work at all; with a factor it is a kernel. */
    private static final ReduceOp OP = ReduceOp.premulSum(1);

    private DeviceTime() {}

    /**
     * Measures and prints.
     *
     * @param arguments none
     */
    @SuppressWarnings("try") // a scope is there to be closed only
    public static void main(String[] arguments) {
        try (ProcessGroup group = World.alone();
                Tensor memory =
                        Tensor.allocate(World.GPU, DataType.FLOAT32, LARGEST / Float.BYTES);
                Stream stream = Stream.create(World.GPU, false);
                Event begin = Event.create(World.GPU, true);
                Event end = Event.create(World.GPU, true);
                Stream.Scope scope = stream.use()) {
            SyncCollectives sync = group.sync();
            // Before this much, the JVM has not compiled the calls.
            repeat(sync, memory.slice(0, 1), COMPILED_AFTER);
            stream.synchronize();
            for (long bytes = SMALLEST; bytes <= LARGEST; bytes *= FACTOR) {
                Tensor tensor = memory.slice(0, bytes / Float.BYTES);
                repeat(sync, tensor, WARM_UPS);
                int calls = callsOf(bytes);
                double device = Double.MAX_VALUE;
                double host = Double.MAX_VALUE;
                for (int round = 0; round < ROUNDS; round++) {
                    repeat(sync, memory, CALLS_BEFORE);
                    begin.record(stream);
                    long start = System.nanoTime();
                    repeat(sync, tensor, calls);
                    host = Math.min(host, (System.nanoTime() - start) / 1e3 / calls);
                    end.record(stream);
                    stream.synchronize();
                    device = Math.min(device, begin.elapsed(end).toNanos() / 1e3 / calls);
                }
                System.out.printf(Locale.ROOT, "%d %.3f %.3f%n", bytes, device, host);
            }
        }
    }

    /** Enough to hide the ends of a round, and not too many of the long ones. */
    private static int callsOf(long bytes) {
        return bytes > 1 << 20 ? 10 : 100;
    }

    private static void repeat(SyncCollectives sync, Tensor tensor, int times) {
        for (int i = 0; i < times; i++) {
            sync.allReduce(tensor, OP);
        }
    }
}
