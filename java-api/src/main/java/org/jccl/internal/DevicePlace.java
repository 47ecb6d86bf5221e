package org.jccl.internal;

import org.jccl.Device;
import org.jccl.FailureContext;
import org.jccl.Stream;
import org.jccl.UsageException;
import org.jccl.spi.DeviceRuntime;

/**
 * The memory of a device, for a library that takes it but works on the host and knows no streams.
 */
final class DevicePlace implements TensorPlace {

    private final Device device;
    private final DeviceRuntime runtime;
    private final long copies;

    /** Finds the binding that drives the device, and makes the device current. */
    DevicePlace(Device device) {
        this.device = device;
        this.runtime = DeviceRuntimes.of(device);
        this.copies = runtime.createStream(false);
    }

    @Override
    public void awaitCaller() {
        Stream caller = Stream.current(device);
        if (caller.isCapturing()) {
            throw new UsageException(
                    FailureContext.NONE,
                    "the current stream is captured into a graph, but this backend works on the"
                            + " host, which no graph repeats; call it outside of the capture");
        }
        caller.synchronize();
    }

    @Override
    public void enter() {
        DeviceRuntimes.enter(runtime, device);
    }

    @Override
    public Staging.Memory scratch() {
        return new Staging.Memory() {
            @Override
            public long allocate(long bytes) {
                enter();
                return runtime.allocate(bytes);
            }

            @Override
            public void free(long address) {
                enter();
                runtime.free(address);
            }

            @Override
            public void copy(long from, long to, long bytes) {
                enter();
                runtime.copy(to, from, bytes, DeviceRuntime.Copy.DEVICE_TO_DEVICE, copies);
            }

            @Override
            public void finishCopies() {
                runtime.synchronizeStream(copies);
            }

            @Override
            public void close() {
                enter();
                runtime.destroyStream(copies);
            }
        };
    }
}
