package org.jccl.nccl;

import org.jccl.conformance.DeviceBackend;

final class ReplacementTest extends org.jccl.conformance.ReplacementTest {

    @Override
    protected DeviceBackend backend() {
        return new NcclBackend(NcclOptions.defaults(), NcclConformanceTest.ownDevices());
    }
}
