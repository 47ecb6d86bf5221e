package org.jccl.internal.host;

import java.util.concurrent.TimeUnit;
import org.jccl.Device;
import org.jccl.FailureContext;
import org.jccl.GroupAbortedException;
import org.jccl.Stream;
import org.jccl.UsageException;
import org.jccl.internal.backend.DeviceRuntimes;
import org.jccl.internal.engine.GroupFailure;
import org.jccl.internal.memory.DeviceMemory;
import org.jccl.internal.memory.ScratchMemory;
import org.jccl.internal.operation.Operation;
import org.jccl.spi.DeviceRuntime;
import org.jccl.spi.HostCommunicator;

/**
 * The memory of a device, for a library that takes it but works on the host and knows no streams.
 */
public final class DeviceLocation implements TensorLocation {

    /** How long to wait for copies before the failure of the group is checked again. */
    private static final long CHECK_MILLIS = 500;

    /** How long after a failure copies may take. */
    private static final long GRACE_NANOS = TimeUnit.SECONDS.toNanos(10);

    private final Device device;
    private final DeviceRuntime runtime;
    private final DeviceMemory memory;

    /** Finds the binding that drives the device, and makes the device current. */
    public DeviceLocation(Device device) {
        this(device, DeviceRuntimes.of(device));
    }

    public DeviceLocation(Device device, DeviceRuntime runtime) {
        this.device = device;
        this.runtime = runtime;
        this.memory = new DeviceMemory(runtime, device);
    }

    @Override
    public void orderAfterCaller(Operation operation) {
        Stream caller = Stream.current(device);
        if (caller.isCapturing()) {
            throw new UsageException(
                    FailureContext.NONE,
                    "the current stream is captured into a graph, but this backend runs on the"
                            + " host, which a graph does not replay; call it outside the capture");
        }
        caller.synchronize();
    }

    @Override
    public void enter() {
        DeviceRuntimes.enter(runtime, device);
    }

    @Override
    public Staging staging(HostCommunicator communicator, GroupFailure failure) {
        return new PartsStaging(communicator, scratch(failure, GRACE_NANOS));
    }

    ScratchMemory scratch(GroupFailure failure, long graceNanos) {
        return new Scratch(failure, graceNanos);
    }

    /** Makes its stream when it first copies, so that there is none to lose before. */
    private final class Scratch implements ScratchMemory {

        private final GroupFailure failure;
        private final long graceNanos;
        private boolean copied;
        private long stream;

        /** Whether the device did not end copies, which may use the memory and the stream. */
        private boolean stuck;

        Scratch(GroupFailure failure, long graceNanos) {
            this.failure = failure;
            this.graceNanos = graceNanos;
        }

        @Override
        public long allocate(long bytes) {
            enter();
            return memory.allocate(bytes);
        }

        @Override
        public void free(long address) {
            if (!stuck) {
                memory.free(address);
            }
        }

        @Override
        public void copy(long from, long to, long bytes) {
            enter();
            if (!copied) {
                stream = runtime.createStream(false);
                copied = true;
            }
            runtime.copy(to, from, bytes, DeviceRuntime.Copy.DEVICE_TO_DEVICE, stream);
        }

        @Override
        public void finishCopies() {
            while (copied && !runtime.awaitStream(stream, CHECK_MILLIS)) {
                if (failure.isOlderThan(graceNanos)) {
                    stuck = true;
                    throw new GroupAbortedException(
                            FailureContext.NONE,
                            "the device did not complete its copies",
                            failure.get());
                }
            }
        }

        @Override
        public void close() {
            if (copied && !stuck) {
                enter();
                runtime.destroyStream(stream);
                copied = false;
            }
        }
    }
}
