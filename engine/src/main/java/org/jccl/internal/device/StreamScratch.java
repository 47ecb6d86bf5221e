package org.jccl.internal.device;

import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;
import org.jccl.Device;
import org.jccl.internal.memory.DeviceMemory;
import org.jccl.internal.memory.ScratchMemory;
import org.jccl.spi.DeviceRuntime;

/** Scratch memory of a device, used in the order of one stream. The device must be current. */
final class StreamScratch implements ScratchMemory {

    private final DeviceRuntime runtime;
    private final DeviceMemory memory;
    private final long stream;
    private final BooleanSupplier idle;
    private final BooleanSupplier captured;

    /** Outgrown, while a graph may use it again. */
    private final List<Long> kept = new ArrayList<>();

    /** Creates scratch memory. */
    StreamScratch(
            DeviceRuntime runtime,
            Device device,
            long stream,
            BooleanSupplier idle,
            BooleanSupplier captured) {
        this.runtime = runtime;
        this.memory = new DeviceMemory(runtime, device);
        this.stream = stream;
        this.idle = idle;
        this.captured = captured;
    }

    @Override
    public long allocate(long bytes) {
        return memory.allocate(bytes);
    }

    @Override
    public void free(long address) {
        if (idle.getAsBoolean()) {
            memory.free(address);
        } else if (captured.getAsBoolean()) {
            kept.add(address);
        } else {
            memory.freeAfter(address, stream);
        }
    }

    @Override
    public void copy(long from, long to, long bytes) {
        runtime.copy(to, from, bytes, DeviceRuntime.Copy.DEVICE_TO_DEVICE, stream);
    }

    @Override
    public void close() {
        kept.forEach(memory::free);
        kept.clear();
    }
}
