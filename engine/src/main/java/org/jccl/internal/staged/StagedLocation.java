package org.jccl.internal.staged;

import org.jccl.Device;
import org.jccl.FailureContext;
import org.jccl.UsageException;
import org.jccl.internal.backend.DeviceRuntimes;
import org.jccl.internal.device.NativeEvent;
import org.jccl.internal.device.NativeStream;
import org.jccl.internal.engine.GroupFailure;
import org.jccl.internal.host.Staging;
import org.jccl.internal.host.TensorLocation;
import org.jccl.internal.operation.Operation;
import org.jccl.spi.DeviceRuntime;
import org.jccl.spi.HostCommunicator;

/**
 * The memory of a device, for a library that takes host memory only. The caller of an operation is
 * not held up: an event marks the position of its stream, and the thread that runs the operation
 * waits for that event.
 */
public final class StagedLocation implements TensorLocation {

    private final Device device;
    private final DeviceRuntime runtime;
    private final FailureContext group;
    private final int size;
    private final CallerEvents events;

    /** Finds the binding that drives the device, and makes the device current. */
    public StagedLocation(Device device, FailureContext group, int size) {
        this(device, DeviceRuntimes.of(device), group, size);
    }

    StagedLocation(Device device, DeviceRuntime runtime, FailureContext group, int size) {
        this.device = device;
        this.runtime = runtime;
        this.group = group;
        this.size = size;
        this.events = new CallerEvents(device);
    }

    @Override
    public void orderAfterCaller(Operation operation) {
        NativeStream caller = NativeStream.current(device);
        if (caller.isCapturing()) {
            throw new UsageException(
                    FailureContext.NONE,
                    "the current stream is captured into a graph, but this backend works on the"
                            + " host, which no graph repeats; call it outside of the capture");
        }
        NativeEvent event = events.take();
        try {
            event.record(caller);
            event.checkFailure();
        } catch (RuntimeException | Error e) {
            events.giveBack(event);
            throw e;
        }
        operation.callerEvent = event;
    }

    @Override
    public void enter() {
        DeviceRuntimes.enter(runtime, device);
    }

    /** Another thread may capture a graph, which asking for events must not disturb. */
    @Override
    public void prepareOwnThread() {
        runtime.preparePollingThread(device.index());
    }

    /** Windows have the same range of each rank's part, which lists of tensors would break up. */
    @Override
    public boolean flattensLists() {
        return false;
    }

    @Override
    public Staging staging(HostCommunicator communicator, GroupFailure failure) {
        return new HostMemoryStaging(this, communicator, failure, PollingWait.GRACE_NANOS);
    }

    /** Waits until the caller's stream is where it was when an operation was issued. */
    void awaitCaller(Operation operation, PollingWait polling) {
        polling.awaitOthers(() -> hasCallerArrived(operation));
    }

    /** The same without waiting; false while it is not there yet. */
    boolean hasCallerArrived(Operation operation) {
        if (operation.callerEvent != null) {
            if (!operation.callerEvent.query()) {
                return false;
            }
            events.giveBack((NativeEvent) operation.callerEvent);
            operation.callerEvent = null;
        }
        return true;
    }

    Device device() {
        return device;
    }

    DeviceRuntime runtime() {
        return runtime;
    }

    FailureContext group() {
        return group;
    }

    int size() {
        return size;
    }

    void close() {
        events.close();
    }
}
