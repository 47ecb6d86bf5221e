package org.jccl.conformance;

import org.jccl.conformance.inmemory.InMemoryProvider;

/** The engine over a library whose collectives are started and return requests. */
final class InMemoryRequestsConformanceTest extends ConformanceTest {

    @Override
    protected ConformanceBackend backend() {
        return new InMemoryBackend(new InMemoryProvider(true));
    }
}
