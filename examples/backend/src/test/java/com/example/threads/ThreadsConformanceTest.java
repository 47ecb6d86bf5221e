package com.example.threads;

import java.time.Duration;
import org.jccl.DataType;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Store;
import org.jccl.conformance.Capability;
import org.jccl.conformance.ConformanceBackend;
import org.jccl.conformance.ConformanceTest;

/** What every backend must do. */
final class ThreadsConformanceTest extends ConformanceTest {

    @Override
    protected ConformanceBackend backend() {
        ConformanceBackend named = ConformanceBackend.named("threads");
        return new ConformanceBackend() {
            @Override
            public ProcessGroup join(Store store, int rank, int size, Duration timeout) {
                return named.join(store, rank, size, timeout);
            }

            @Override
            public boolean has(Capability capability) {
                return capability != Capability.LARGE_TENSORS;
            }

            @Override
            public boolean reduces(ReduceOp op, DataType type) {
                return Reduction.knows(op, type);
            }
        };
    }
}
