package org.jccl.nccl;

import org.jccl.conformance.ConformanceBackend;
import org.jccl.conformance.ConformanceTest;
import org.jccl.conformance.StagedBackend;
import org.jccl.gloo.GlooOptions;
import org.junit.jupiter.api.Tag;

/** The suite on Gloo with tensors of CUDA's mock, whose streams delay each copy at random. */
@Tag("all")
final class StagedConformanceTest extends ConformanceTest {

    @Override
    protected ConformanceBackend backend() {
        return new StagedBackend(
                "gloo",
                NcclProvider.DEVICE_TYPE,
                GlooOptions.onHost("127.0.0.1"),
                NcclConformanceTest.ownDevices());
    }
}
