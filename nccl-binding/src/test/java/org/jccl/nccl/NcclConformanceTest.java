package org.jccl.nccl;

import org.jccl.conformance.ConformanceBackend;
import org.jccl.conformance.ConformanceTest;
import org.jccl.conformance.OwnDevices;

/** The suite on NCCL's mock, whose streams delay each operation at random; a device a rank. */
final class NcclConformanceTest extends ConformanceTest {

    @Override
    protected ConformanceBackend backend() {
        return new NcclBackend(NcclOptions.defaults(), OwnDevices.of(NcclProvider.DEVICE_TYPE));
    }
}
