package org.jccl.internal.staged;

import java.util.concurrent.ConcurrentLinkedDeque;
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
import org.jccl.spi.CleanUp;
import org.jccl.spi.DeviceRuntime;
import org.jccl.spi.HostCommunicator;

/**
 * The memory of a device, for a library that takes host memory only. The caller of an operation
 * does not wait: an event marks the position of its stream, and the thread that runs the operation
 * waits for that event.
 */
public final class StagedLocation implements TensorLocation {

    private final Device device;
    private final DeviceRuntime runtime;
    private final FailureContext group;
    private final int size;

    /**
     * Idle events, which mark the positions of callers' streams. One that was never given back
     * belongs to an operation that failed: its stream may be stuck, and destroying it then can
     * hang, so it is lost.
     */
    private final ConcurrentLinkedDeque<NativeEvent> events = new ConcurrentLinkedDeque<>();

    /** Finds the binding that drives the device, and makes the device current. */
    public StagedLocation(Device device, FailureContext group, int size) {
        this(device, DeviceRuntimes.of(device), group, size);
    }

    StagedLocation(Device device, DeviceRuntime runtime, FailureContext group, int size) {
        this.device = device;
        this.runtime = runtime;
        this.group = group;
        this.size = size;
    }

    @Override
    public void orderAfterCaller(Operation operation) {
        NativeStream caller = NativeStream.current(device);
        if (caller.isCapturing()) {
            throw new UsageException(
                    FailureContext.NONE,
                    "the current stream is captured into a graph, but this backend runs on the"
                            + " host, which a graph does not replay; call it outside the capture");
        }
        NativeEvent idle = events.poll();
        NativeEvent event = idle != null ? idle : NativeEvent.create(device, false);
        try {
            event.record(caller);
            event.checkFailure();
        } catch (RuntimeException | Error e) {
            events.push(event);
            throw e;
        }
        operation.callerEvent = event;
    }

    @Override
    public void enter() {
        DeviceRuntimes.enter(runtime, device);
    }

    /** Another thread may capture a graph, which a query of events must not disturb. */
    @Override
    public void prepareOwnThread() {
        runtime.preparePollingThread(device.index());
    }

    /** Each tensor is copied through host memory anyway. */
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

    /** Returns whether the caller's stream is there; never blocks. */
    boolean hasCallerArrived(Operation operation) {
        if (operation.callerEvent != null) {
            if (!operation.callerEvent.query()) {
                return false;
            }
            events.push((NativeEvent) operation.callerEvent);
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
        events.forEach(event -> CleanUp.run(device.toString(), event::close));
        events.clear();
    }
}
