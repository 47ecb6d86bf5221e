package org.jccl.nccl;

import org.jccl.conformance.ConformanceBackend;
import org.junit.jupiter.api.Tag;

/** NCCL itself does not compare calls: NVIDIA's library returns wrong numbers for some. */
@Tag("all")
final class CheckedCallsTest extends org.jccl.conformance.CheckedCallsTest {

    @Override
    protected ConformanceBackend backend() {
        return new NcclBackend(NcclOptions.defaults(), NcclConformanceTest.ownDevices())
                .checkingCalls();
    }
}
