package org.jccl.hccl;

import org.jccl.conformance.DeviceBackend;
import org.junit.jupiter.api.Tag;

@Tag("all")
final class ReplacementTest extends org.jccl.conformance.ReplacementTest {

    @Override
    protected DeviceBackend backend() {
        return new HcclBackend(HcclOptions.defaults(), HcclConformanceTest.ownDevices());
    }
}
