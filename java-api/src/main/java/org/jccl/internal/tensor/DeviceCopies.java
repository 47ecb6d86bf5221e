package org.jccl.internal.tensor;

import org.jccl.Device;
import org.jccl.internal.backend.DeviceRuntimes;
import org.jccl.internal.device.NativeStream;
import org.jccl.internal.device.StreamOrders;
import org.jccl.internal.memory.HostMemory;
import org.jccl.spi.DeviceRuntime;

/** Copies between arrays and device memory, through host memory that does not move. */
final class DeviceCopies {

    private DeviceCopies() {}

    static void fromArray(Object array, long bytes, long address, Device device) {
        HostMemory.Allocation staging = HostMemory.get().allocate(bytes);
        try {
            HostMemory.get().copyFromArray(array, 0, staging.address(), bytes);
            copy(
                    DeviceRuntimes.of(device),
                    address,
                    staging.address(),
                    bytes,
                    DeviceRuntime.Copy.HOST_TO_DEVICE,
                    NativeStream.current(device).handle());
        } finally {
            staging.release().run();
        }
    }

    static void toArray(long address, Object array, long bytes, Device device) {
        HostMemory.Allocation staging = HostMemory.get().allocate(bytes);
        try {
            DeviceRuntime runtime = DeviceRuntimes.of(device);
            long stream = NativeStream.current(device).handle();
            StreamOrders.of(device)
                    .synchronize(
                            stream,
                            () ->
                                    copy(
                                            runtime,
                                            staging.address(),
                                            address,
                                            bytes,
                                            DeviceRuntime.Copy.DEVICE_TO_HOST,
                                            stream));
            HostMemory.get().copyToArray(staging.address(), array, 0, bytes);
        } finally {
            staging.release().run();
        }
    }

    private static void copy(
            DeviceRuntime runtime,
            long to,
            long from,
            long bytes,
            DeviceRuntime.Copy direction,
            long stream) {
        runtime.copy(to, from, bytes, direction, stream);
        runtime.synchronizeStream(stream);
    }
}
