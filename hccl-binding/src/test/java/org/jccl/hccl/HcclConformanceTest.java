package org.jccl.hccl;

import java.util.function.IntUnaryOperator;
import org.jccl.conformance.ConformanceBackend;
import org.jccl.conformance.ConformanceTest;
import org.jccl.spi.CleanUp;
import org.jccl.testing.OwnDevices;

/** The suite on HCCL's mock, whose streams delay each operation at random; a device a rank. */
final class HcclConformanceTest extends ConformanceTest {

    @Override
    protected ConformanceBackend backend() {
        return new HcclBackend(HcclOptions.defaults(), ownDevices());
    }

    /** Devices of this test alone, for each rank one. */
    static IntUnaryOperator ownDevices() {
        return OwnDevices.of(HcclProvider.DEVICE_TYPE, HcclConformanceTest::synchronizeDevice);
    }

    private static void synchronizeDevice(int device) {
        CannErrors.check(Acl.aclrtSetDevice(device), "aclrtSetDevice");
        CleanUp.run(
                "npu:" + device,
                () -> CannErrors.check(Acl.aclrtSynchronizeDevice(), "aclrtSynchronizeDevice"));
    }
}
