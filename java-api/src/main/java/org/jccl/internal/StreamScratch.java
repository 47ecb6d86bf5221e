package org.jccl.internal;

import java.util.function.BooleanSupplier;
import org.jccl.spi.DeviceRuntime;

/** Scratch memory of a device, used in the order of one stream. The device must be current. */
final class StreamScratch implements Staging.Memory {

    private final DeviceRuntime runtime;
    private final long stream;
    private final BooleanSupplier idle;

    /**
     * Creates scratch memory.
     *
     * @param runtime drives the device
     * @param stream where it is used
     * @param idle whether nothing runs on the stream any more
     */
    StreamScratch(DeviceRuntime runtime, long stream, BooleanSupplier idle) {
        this.runtime = runtime;
        this.stream = stream;
        this.idle = idle;
    }

    @Override
    public long allocate(long bytes) {
        return runtime.allocate(bytes);
    }

    @Override
    public void free(long address) {
        // A stream that failed can not be awaited, and need not be when nothing runs.
        if (!idle.getAsBoolean()) {
            runtime.synchronizeStream(stream);
        }
        runtime.free(address);
    }

    @Override
    public void copy(long from, long to, long bytes) {
        runtime.copy(to, from, bytes, DeviceRuntime.Copy.DEVICE_TO_DEVICE, stream);
    }
}
