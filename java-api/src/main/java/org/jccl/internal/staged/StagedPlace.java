package org.jccl.internal.staged;

import org.jccl.Device;
import org.jccl.FailureContext;
import org.jccl.UsageException;
import org.jccl.internal.backend.DeviceRuntimes;
import org.jccl.internal.device.NativeEvent;
import org.jccl.internal.device.NativeStream;
import org.jccl.internal.engine.GroupFailure;
import org.jccl.internal.host.Carrier;
import org.jccl.internal.host.TensorPlace;
import org.jccl.internal.operation.Operation;
import org.jccl.spi.DeviceRuntime;
import org.jccl.spi.HostCommunicator;

/**
 * The memory of a device, for a library that takes host memory only. The caller of an operation is
 * not held up: an event says where its stream was, and whoever runs the operation waits for that.
 */
public final class StagedPlace implements TensorPlace {

    private final Device device;
    private final DeviceRuntime runtime;
    private final FailureContext group;
    private final int size;
    private final CallerMarks marks;

    /**
     * Finds the binding that drives the device, and makes the device current.
     *
     * @param device where the tensors are
     * @param group name and rank
     * @param size number of ranks
     */
    public StagedPlace(Device device, FailureContext group, int size) {
        this(device, DeviceRuntimes.of(device), group, size);
    }

    StagedPlace(Device device, DeviceRuntime runtime, FailureContext group, int size) {
        this.device = device;
        this.runtime = runtime;
        this.group = group;
        this.size = size;
        this.marks = new CallerMarks(device);
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
        NativeEvent mark = marks.take();
        try {
            mark.record(caller);
            mark.checkFailure();
        } catch (RuntimeException | Error e) {
            marks.giveBack(mark);
            throw e;
        }
        operation.mark = mark;
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
    public Carrier carrier(HostCommunicator communicator, GroupFailure failure) {
        return new StagedCarrier(this, communicator, failure, Patience.GRACE_NANOS);
    }

    /** Waits until the caller's stream is where it was when an operation was issued. */
    void awaitCaller(Operation operation, Patience patience) {
        patience.awaitOthers(() -> hasCallerArrived(operation));
    }

    /** The same without waiting; false while it is not there yet. */
    boolean hasCallerArrived(Operation operation) {
        if (operation.mark != null) {
            if (!operation.mark.query()) {
                return false;
            }
            marks.giveBack((NativeEvent) operation.mark);
            operation.mark = null;
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
        marks.close();
    }
}
