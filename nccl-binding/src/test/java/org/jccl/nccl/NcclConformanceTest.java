package org.jccl.nccl;

import java.util.function.IntUnaryOperator;
import org.jccl.conformance.ConformanceBackend;
import org.jccl.conformance.ConformanceTest;
import org.jccl.spi.CleanUp;
import org.jccl.testing.OwnDevices;

/** The suite on NCCL's mock, whose streams delay each operation at random; a device a rank. */
final class NcclConformanceTest extends ConformanceTest {

    @Override
    protected ConformanceBackend backend() {
        return new NcclBackend(NcclOptions.defaults(), ownDevices());
    }

    /** Devices of this test alone, for each rank one. */
    static IntUnaryOperator ownDevices() {
        return OwnDevices.of(NcclProvider.DEVICE_TYPE, NcclConformanceTest::synchronizeDevice);
    }

    private static void synchronizeDevice(int device) {
        CudaRuntime.enter(device);
        CleanUp.run(
                "cuda:" + device,
                () ->
                        CudaErrors.check(
                                NcclNative.cudaDeviceSynchronize(), "cudaDeviceSynchronize"));
    }
}
