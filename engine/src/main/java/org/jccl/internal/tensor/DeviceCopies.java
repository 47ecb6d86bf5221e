package org.jccl.internal.tensor;

import org.jccl.Device;
import org.jccl.internal.backend.DeviceRuntimes;
import org.jccl.internal.device.NativeStream;
import org.jccl.internal.device.failures.StreamClocks;
import org.jccl.internal.memory.HostMemory;
import org.jccl.spi.DeviceRuntime;

/**
 * Copies between arrays and device memory, through host memory that the garbage collector does not
 * move.
 */
final class DeviceCopies {

    private DeviceCopies() {}

    static void fromArray(Object array, long bytes, long address, Device device) {
        HostMemory.Allocation staging = HostMemory.get().allocate(bytes);
        try {
            HostMemory.get().copyFromArray(array, 0, staging.address(), bytes);
            toDevice(staging.address(), address, bytes, device);
        } finally {
            staging.release().run();
        }
    }

    static void toArray(long address, Object array, long bytes, Device device) {
        HostMemory.Allocation staging = HostMemory.get().allocate(bytes);
        try {
            toHost(address, staging.address(), bytes, device);
            HostMemory.get().copyToArray(staging.address(), array, 0, bytes);
        } finally {
            staging.release().run();
        }
    }

    /** Complete on return. */
    static void toDevice(long from, long to, long bytes, Device device) {
        DeviceRuntime runtime = DeviceRuntimes.of(device);
        long stream = NativeStream.current(device).handle();
        StreamClocks.of(device)
                .await(
                        stream,
                        millis ->
                                runtime.awaitStream(stream, millis)
                                        && copy(
                                                runtime,
                                                to,
                                                from,
                                                bytes,
                                                DeviceRuntime.Copy.HOST_TO_DEVICE,
                                                stream));
    }

    /** Complete on return, unless the stream waited for an operation that failed. */
    static void toHost(long from, long to, long bytes, Device device) {
        DeviceRuntime runtime = DeviceRuntimes.of(device);
        long stream = NativeStream.current(device).handle();
        StreamClocks.of(device)
                .synchronize(
                        stream,
                        millis ->
                                runtime.awaitStream(stream, millis)
                                        && copy(
                                                runtime,
                                                to,
                                                from,
                                                bytes,
                                                DeviceRuntime.Copy.DEVICE_TO_HOST,
                                                stream));
    }

    /**
     * Enqueued on return.
     *
     * @param uses of the memory that is owned, to be told where that is
     */
    static void within(Device device, long from, long to, long bytes, StreamUses... uses) {
        DeviceRuntime runtime = DeviceRuntimes.of(device);
        NativeStream stream = NativeStream.current(device);
        if (!runtime.freeWaits()) {
            for (StreamUses each : uses) {
                if (each != null) {
                    each.add(stream);
                }
            }
        }
        runtime.copy(to, from, bytes, DeviceRuntime.Copy.DEVICE_TO_DEVICE, stream.handle());
    }

    /**
     * True, when it is done; the stream is at its end, since the vendor's call may block for it.
     */
    private static boolean copy(
            DeviceRuntime runtime,
            long to,
            long from,
            long bytes,
            DeviceRuntime.Copy direction,
            long stream) {
        runtime.copy(to, from, bytes, direction, stream);
        runtime.synchronizeStream(stream);
        return true;
    }
}
