package org.jccl.gloo;

import org.jccl.conformance.ConformanceBackend;
import org.jccl.conformance.ConformanceTest;

/** Real Gloo, found as a user finds it. */
final class GlooConformanceTest extends ConformanceTest {

    @Override
    protected ConformanceBackend backend() {
        return ConformanceBackend.named("gloo");
    }
}
