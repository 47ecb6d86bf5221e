package org.jccl.hccl;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;
import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import org.jccl.DataType;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Stream;
import org.jccl.SyncCollectives;
import org.jccl.Tensor;
import org.junit.jupiter.api.Test;

/**
 * What a call costs the host. The test is about garbage only, which does not depend on how busy the
 * machine is; {@link #main} prints times.
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

    private static Tensor tensor() {
        return Tensor.allocate(World.NPU, DataType.FLOAT32, 1).copyFrom(new float[] {1});
    }

    private static double settledBytes(Runnable call) {
        for (int i = 0; i < WARM_UP; i++) {
            measure(call, CALLS / WARM_UP);
        }
        return measure(call, CALLS).bytes();
    }

    @Test
    void asynchronousCallMakesAtMostItsWork() {
        org.junit.jupiter.api.Assumptions.assumeTrue(
                CannLibraries.get().has("aclrtCreateEventExWithFlag"),
                "this CANN has events for one use only");
        try (ProcessGroup group = World.alone();
                Tensor tensor = tensor()) {
            assertThat(settledBytes(() -> group.allReduce(tensor, ReduceOp.SUM).synchronize()))
                    .isLessThanOrEqualTo(MOST_BYTES);
        }
    }

    @Test
    void synchronousCallMakesNoGarbage() {
        try (ProcessGroup group = World.alone();
                Tensor tensor = tensor();
                Stream stream = Stream.create(World.NPU, false);
                Stream.Scope scope = stream.use()) {
            assertThat(scope).isNotNull();
            SyncCollectives sync = group.sync();
            assertThat(settledBytes(() -> sync.allReduce(tensor, ReduceOp.SUM))).isLessThan(1);
        }
    }

    /**
     * Prints the host's cost of calls; run it with {@code MOCK_INLINE=1}.
     *
     * @param arguments none
     */
    public static void main(String[] arguments) {
        try (ProcessGroup group = World.alone();
                Tensor tensor = tensor();
                Stream stream = Stream.create(World.NPU, false);
                Stream.Scope scope = stream.use();
                Memory out = new Memory(Integer.BYTES)) {
            assertThat(scope).isNotNull();
            SyncCollectives sync = group.sync();
            long address = Pointer.nativeValue(out);
            long handle = stream.handle();
            for (int i = 0; i < 10; i++) {
                print("async", () -> group.allReduce(tensor, ReduceOp.SUM));
                print("async+await", () -> group.allReduce(tensor, ReduceOp.SUM).await());
                print("sync", () -> sync.allReduce(tensor, ReduceOp.SUM));
                // These two do nearly nothing in the library, so that what is left is JNA's.
                print("jna, 0 args", Hccl::HcclGetCommConfigCapability);
                print("jna, 2 args", () -> Acl.aclrtStreamQuery(handle, address));
                print("jna, 7 args", () -> Hccl.HcclAllReduce(0, 0, 0, 4, 0, 0, handle));
            }
        }
    }

    private static void print(String name, Runnable call) {
        Cost cost = measure(call, 4 * CALLS);
        Stream.current(World.NPU).synchronize();
        System.out.printf("%-12s %6.0f ns %6.1f bytes%n", name, cost.cpuNanos(), cost.bytes());
    }
}
