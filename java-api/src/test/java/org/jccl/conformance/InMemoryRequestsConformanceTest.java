package org.jccl.conformance;

import org.jccl.TestGroups;
import org.jccl.conformance.inmemory.InMemoryProvider;

/** The engine over a library whose collectives are started and return requests. */
final class InMemoryRequestsConformanceTest extends ConformanceTest {

    @Override
    protected ConformanceBackend backend() {
        InMemoryProvider provider = new InMemoryProvider(true);
        return (store, rank, size, timeout) ->
                TestGroups.world(provider, store, rank, size, timeout);
    }
}
