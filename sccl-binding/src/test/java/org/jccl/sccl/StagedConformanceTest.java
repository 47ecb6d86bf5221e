package org.jccl.sccl;

import org.jccl.Device;
import org.jccl.Stream;
import org.jccl.conformance.ConformanceBackend;
import org.jccl.conformance.ConformanceTest;
import org.jccl.conformance.StagedBackend;
import org.jccl.gloo.GlooOptions;
import org.jccl.testing.DeviceFamilies;
import org.jccl.testing.OwnDevices;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * The suite on Gloo with tensors of the TPUs' mock, whose one stream delays each copy at random.
 */
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
                ScclProvider.DEVICE_TYPE,
                GlooOptions.onHost("127.0.0.1"),
                OwnDevices.of(ScclProvider.DEVICE_TYPE, StagedConformanceTest::synchronizeDevice));
    }

    /** Its one stream is all there is. */
    private static void synchronizeDevice(int index) {
        Stream.current(new Device(ScclProvider.DEVICE_TYPE, index)).synchronize();
    }
}
