package org.jccl.conformance;

import org.jccl.conformance.inmemory.InMemoryProvider;
import org.jccl.testing.Families;

/** The engine over a library whose collectives are started and return requests. */
@Families({"coalesced", "messages", "works", "failures"})
final class InMemoryRequestsConformanceTest extends ConformanceTest {

    @Override
    protected ConformanceBackend backend() {
        return new InMemoryBackend(new InMemoryProvider(true));
    }
}
