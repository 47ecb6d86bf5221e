package com.example.threads;

import java.util.concurrent.atomic.AtomicInteger;
import org.jccl.DataType;
import org.jccl.ReduceOp;
import org.jccl.conformance.Capability;
import org.jccl.conformance.ConformanceBackend;
import org.jccl.conformance.ConformanceTest;
import org.jccl.conformance.DeviceBackend;

/** What every backend must do, on devices that no other test uses. */
final class QueuesConformanceTest extends ConformanceTest {

    private static final int MOST_RANKS = 8;
    private static final AtomicInteger DEVICES = new AtomicInteger();

    @Override
    protected ConformanceBackend backend() {
        int first = DEVICES.getAndAdd(MOST_RANKS);
        return new DeviceBackend("queues", QueuesProvider.DEVICE_TYPE, null, rank -> first + rank) {
            @Override
            public boolean has(Capability capability) {
                return capability != Capability.LARGE_TENSORS && super.has(capability);
            }

            @Override
            public boolean reduces(ReduceOp op, DataType type) {
                return Reduction.knows(op, type);
            }
        };
    }
}
