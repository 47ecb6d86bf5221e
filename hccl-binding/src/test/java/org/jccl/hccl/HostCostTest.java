package org.jccl.hccl;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Stream;
import org.jccl.SyncCollectives;
import org.jccl.Tensor;
import org.jccl.testing.CallCost;
import org.jccl.testing.DeviceTensors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * What a call costs the host. The test is about garbage only, which does not depend on how busy the
 * machine is; {@link #main} prints times.
 */
@Tag("all")
final class HostCostTest {

    private static final int MOST_BYTES = 100;

    private static Tensor tensor() {
        return DeviceTensors.floats(World.NPU, 1);
    }

    @Test
    void asynchronousCallMakesAtMostItsWork() {
        try (ProcessGroup group = World.alone();
                Tensor tensor = tensor()) {
            assertThat(
                            CallCost.settledBytes(
                                    () -> group.allReduce(tensor, ReduceOp.SUM).synchronize()))
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
            assertThat(CallCost.settledBytes(() -> sync.allReduce(tensor, ReduceOp.SUM)))
                    .isLessThan(CallCost.SMALLEST_OBJECT);
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
        CallCost cost = CallCost.of(call);
        Stream.current(World.NPU).synchronize();
        System.out.printf("%-12s %6.0f ns %6.1f bytes%n", name, cost.cpuNanos(), cost.bytes());
    }
}
