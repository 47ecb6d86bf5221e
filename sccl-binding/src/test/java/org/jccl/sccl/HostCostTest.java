package org.jccl.sccl;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;
import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import org.jccl.DataType;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.SyncCollectives;
import org.jccl.Tensor;
import org.junit.jupiter.api.Test;

/**
 * What a call costs the host. The tests are about garbage only, which does not depend on how busy
 * the machine is; {@link #main} prints times.
 */
final class HostCostTest {

    private static final int CALLS = 5000;
    private static final int WARM_UP = 4;
    private static final int MOST_BYTES = 100;
    private static final ThreadMXBean THREAD = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    /**
     * Averages of one call.
     *
     * @param cpuNanos processor time of the calling thread
     * @param bytes garbage of the calling thread
     */
    private record Cost(double cpuNanos, double bytes) {}

    private static Cost measure(Runnable call, int calls) {
        long self = Thread.currentThread().getId();
        long bytes = THREAD.getThreadAllocatedBytes(self);
        long nanos = THREAD.getCurrentThreadCpuTime();
        for (int i = 0; i < calls; i++) {
            call.run();
        }
        nanos = THREAD.getCurrentThreadCpuTime() - nanos;
        bytes = THREAD.getThreadAllocatedBytes(self) - bytes;
        return new Cost((double) nanos / calls, (double) bytes / calls);
    }

    private interface CallOf {
        Runnable on(ProcessGroup group, Tensor tensor);
    }

    private static void garbage(CallOf calls, double most) throws Exception {
        World.run(
                2,
                (group, device) -> {
                    try (Tensor tensor = Tensor.allocate(device, DataType.FLOAT32, 1)) {
                        tensor.copyFrom(new float[] {1});
                        Runnable call = calls.on(group, tensor);
                        for (int i = 0; i < WARM_UP; i++) {
                            measure(call, CALLS / WARM_UP);
                        }
                        Cost cost = measure(call, CALLS);
                        org.jccl.Stream.current(device).synchronize();
                        assertThat(cost.bytes()).isLessThan(most);
                    }
                });
    }

    @Test
    void asynchronousCallMakesAtMostItsWork() throws Exception {
        garbage(
                (group, tensor) -> () -> group.allReduce(tensor, ReduceOp.SUM).synchronize(),
                MOST_BYTES);
    }

    @Test
    void synchronousCallMakesNoGarbage() throws Exception {
        garbage(
                (group, tensor) -> {
                    SyncCollectives sync = group.sync();
                    return () -> sync.allReduce(tensor, ReduceOp.SUM);
                },
                1);
    }

    /**
     * Prints the host's cost of calls; run it without {@code MOCK_DELAY_US} and with {@code
     * MOCK_INLINE=1} to leave out what the mocks do.
     *
     * @param arguments none
     */
    public static void main(String[] arguments) throws Exception {
        World.run(
                2,
                (group, device) -> {
                    try (Tensor tensor = Tensor.allocate(device, DataType.FLOAT32, 1);
                            Memory count = new Memory(Integer.BYTES)) {
                        SyncCollectives sync = group.sync();
                        long address = Pointer.nativeValue(count);
                        for (int i = 0; i < 8; i++) {
                            print(
                                    group,
                                    "tpuGetDeviceCount",
                                    () -> Tpurt.tpuGetDeviceCount(address));
                            print(group, "tpuSetDevice", () -> Tpurt.tpuSetDevice(device.index()));
                            print(group, "sync", () -> sync.allReduce(tensor, ReduceOp.SUM));
                            group.barrier().await();
                            print(
                                    group,
                                    "async+synchronize",
                                    () -> group.allReduce(tensor, ReduceOp.SUM).synchronize());
                            group.barrier().await();
                        }
                    }
                });
    }

    private static void print(ProcessGroup group, String name, Runnable call) {
        Cost cost = measure(call, 4 * CALLS);
        if (group.rank() == 0) {
            System.out.printf("%-18s %6.0f ns %6.1f bytes%n", name, cost.cpuNanos(), cost.bytes());
        }
    }
}
