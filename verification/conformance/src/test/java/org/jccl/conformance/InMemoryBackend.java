package org.jccl.conformance;

import java.time.Duration;
import org.jccl.ProcessGroup;
import org.jccl.Store;
import org.jccl.TestGroups;
import org.jccl.conformance.inmemory.InMemoryProvider;

/** The engine over a library of this suite, which keeps what it moves in arrays. */
record InMemoryBackend(InMemoryProvider provider) implements ConformanceBackend {

    @Override
    public ProcessGroup join(Store store, int rank, int size, Duration timeout) {
        return TestGroups.world(provider, store, rank, size, timeout);
    }

    @Override
    public boolean has(Capability capability) {
        return capability != Capability.LARGE_TENSORS;
    }
}
