package org.jccl.hccl;

import org.jccl.conformance.ConformanceBackend;
import org.jccl.conformance.ConformanceTest;
import org.jccl.conformance.StagedBackend;
import org.jccl.gloo.GlooOptions;
import org.jccl.testing.Families;
import org.junit.jupiter.api.Tag;

/** The suite on Gloo with tensors of ACL's mock, whose streams delay each copy at random. */
@Families("works")
@Tag("all")
final class StagedConformanceTest extends ConformanceTest {

    @Override
    protected ConformanceBackend backend() {
        return new StagedBackend(
                "gloo",
                HcclProvider.DEVICE_TYPE,
                GlooOptions.onHost("127.0.0.1"),
                HcclConformanceTest.ownDevices());
    }
}
