package org.jccl.hccl;

import org.jccl.conformance.ConformanceBackend;
import org.jccl.conformance.ConformanceTest;
import org.junit.jupiter.api.parallel.ResourceLock;

/** The suite on HCCL's mock, whose streams delay each operation at random; a device a rank. */
@ResourceLock("devices")
final class HcclConformanceTest extends ConformanceTest {

    @Override
    protected ConformanceBackend backend() {
        return new HcclBackend(HcclOptions.defaults());
    }
}
