package org.jccl.hccl;

import org.jccl.conformance.ConformanceBackend;
import org.jccl.conformance.ConformanceTest;
import org.jccl.conformance.StagedBackend;
import org.jccl.gloo.GlooOptions;
import org.jccl.spi.CleanUp;
import org.jccl.testing.DeviceFamilies;
import org.jccl.testing.OwnDevices;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.extension.ExtendWith;

/** The suite on Gloo with tensors of ACL's mock, whose streams delay each copy at random. */
@ExtendWith(DeviceFamilies.class)
final class StagedConformanceTest extends ConformanceTest {

    /** Libraries are loaded at first use, which tests with short deadlines do not wait for. */
    @BeforeAll
    static void load() {
        staged().alone().close();
    }

    @Override
    protected ConformanceBackend backend() {
        return staged();
    }

    private static StagedBackend staged() {
        return new StagedBackend(
                "gloo",
                HcclProvider.DEVICE_TYPE,
                GlooOptions.onHost("127.0.0.1"),
                OwnDevices.of(HcclProvider.DEVICE_TYPE, StagedConformanceTest::synchronizeDevice));
    }

    private static void synchronizeDevice(int device) {
        CannErrors.check(Acl.aclrtSetDevice(device), "aclrtSetDevice");
        CleanUp.run(
                "npu:" + device,
                () -> CannErrors.check(Acl.aclrtSynchronizeDevice(), "aclrtSynchronizeDevice"));
    }
}
