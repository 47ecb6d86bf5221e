package org.jccl.nccl;

import static org.assertj.core.api.Assertions.assertThat;

import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
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
        return DeviceTensors.floats(World.GPU, 1);
    }

    @Test
    void asynchronousCallMakesAtMostItsWork() {
        try (ProcessGroup group = World.alone();
                Tensor tensor = tensor()) {
            Runnable call = () -> group.allReduce(tensor, ReduceOp.SUM).synchronize();
            assertThat(CallCost.settledBytes(call)).isLessThanOrEqualTo(MOST_BYTES);
        }
    }

    @Test
    void synchronousCallMakesNoGarbage() {
        try (ProcessGroup group = World.alone();
                Tensor tensor = tensor()) {
            SyncCollectives sync = group.sync();
            Runnable call = () -> sync.allReduce(tensor, ReduceOp.SUM);
            assertThat(CallCost.settledBytes(call)).isLessThan(CallCost.SMALLEST_OBJECT);
        }
    }

    /**
     * Prints the host's cost of calls; run it without {@code MOCK_DELAY_US}.
     *
     * @param arguments none
     */
    public static void main(String[] arguments) {
        try (ProcessGroup group = World.alone();
                Tensor tensor = tensor()) {
            SyncCollectives sync = group.sync();
            for (int i = 0; i < 10; i++) {
                print("async", () -> group.allReduce(tensor, ReduceOp.SUM));
                print("async+await", () -> group.allReduce(tensor, ReduceOp.SUM).await());
                print("sync", () -> sync.allReduce(tensor, ReduceOp.SUM));
            }
        }
    }

    private static void print(String name, Runnable call) {
        CallCost cost = CallCost.of(call);
        org.jccl.Stream.current(World.GPU).synchronize();
        System.out.printf("%-12s %6.0f ns %6.1f bytes%n", name, cost.cpuNanos(), cost.bytes());
    }
}
