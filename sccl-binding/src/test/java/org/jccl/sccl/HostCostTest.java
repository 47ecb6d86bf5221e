package org.jccl.sccl;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;
import org.jccl.DataType;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.SyncCollectives;
import org.jccl.Tensor;
import org.jccl.testing.CallCost;
import org.jccl.testing.DeviceTensors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * What a call costs the host. The tests are about garbage only, which does not depend on how busy
 * the machine is; {@link #main} prints times.
 */
@Tag("all")
final class HostCostTest {

    private static final int MOST_BYTES = 100;

    /** The last is printed warm. */
    private static final int ROUNDS = 3;

    private interface CallOf {
        Runnable on(ProcessGroup group, Tensor tensor);
    }

    private static void garbage(CallOf calls, double most) throws Exception {
        World.run(
                2,
                (group, device) -> {
                    try (Tensor tensor = DeviceTensors.floats(device, 1)) {
                        double bytes = CallCost.settledBytes(calls.on(group, tensor));
                        org.jccl.Stream.current(device).synchronize();
                        assertThat(bytes).isLessThan(most);
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
                CallCost.SMALLEST_OBJECT);
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
                        for (int i = 0; i < ROUNDS; i++) {
                            print(
                                    group,
                                    "tpuGetDeviceCount",
                                    () -> Tpurt.tpuGetDeviceCount(address));
                            print(group, "sync", () -> sync.allReduce(tensor, ReduceOp.SUM));
                            group.barrier().await();
                        }
                        // Once: each call waits for the other rank.
                        print(
                                group,
                                "async+synchronize",
                                () -> group.allReduce(tensor, ReduceOp.SUM).synchronize());
                        group.barrier().await();
                    }
                });
    }

    private static void print(ProcessGroup group, String name, Runnable call) {
        CallCost cost = CallCost.of(call);
        if (group.rank() == 0) {
            System.out.printf("%-18s %6.0f ns %6.1f bytes%n", name, cost.cpuNanos(), cost.bytes());
        }
    }
}
