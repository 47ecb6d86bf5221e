package org.jccl.conformance;

import org.jccl.conformance.inmemory.InMemoryProvider;

/** The engine over a library whose collectives block. */
final class InMemoryConformanceTest extends ConformanceTest {

    @Override
    protected ConformanceBackend backend() {
        return new InMemoryBackend(new InMemoryProvider());
    }
}
