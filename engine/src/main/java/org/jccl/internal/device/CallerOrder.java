package org.jccl.internal.device;

import java.util.List;
import org.jccl.Device;
import org.jccl.JcclException;
import org.jccl.Stream;
import org.jccl.internal.backend.DeviceRuntimes;
import org.jccl.internal.device.failures.GroupOrder;
import org.jccl.internal.operation.Operation;
import org.jccl.spi.DeviceRuntime;

/**
 * Orders operations after what their caller has enqueued on its current stream. If this fails, the
 * group stays usable, because nothing was issued, and the memory of the operations is released.
 */
final class CallerOrder {

    private final DeviceRuntime runtime;
    private final Device device;
    private final WorkEvents events;
    private final GroupOrder order;

    CallerOrder(DeviceRuntime runtime, Device device, WorkEvents events, GroupOrder order) {
        this.runtime = runtime;
        this.device = device;
        this.events = events;
        this.order = order;
    }

    /**
     * Makes the device current, and returns the caller's stream, to enqueue the operation there.
     */
    Stream enter(Operation operation) {
        Stream caller = currentStream(operation);
        try {
            order.issue(caller.handle());
            return caller;
        } catch (JcclException e) {
            operation.releaseMemory();
            throw e;
        }
    }

    private Stream currentStream(Operation operation) {
        try {
            DeviceRuntimes.enter(runtime, device);
            NativeStream caller = NativeStream.current(device);
            // A stream that was closed in its scope still exists, but has no deadlines any more.
            caller.requireOpen();
            return caller;
        } catch (JcclException e) {
            operation.releaseMemory();
            throw e;
        }
    }

    /** The communication stream waits for the caller's; returns whether that captures a graph. */
    boolean orderAfterCaller(Operation operation) {
        long caller = currentStream(operation).handle();
        try {
            order.issue(caller);
            boolean captured = runtime.isCapturing(caller);
            events.orderAfter(caller, captured);
            return captured;
        } catch (JcclException e) {
            operation.releaseMemory();
            throw e.at(operation.context(order.context()));
        }
    }

    /** The same for operations that are issued together. */
    boolean orderAfterCaller(List<Operation> operations) {
        try {
            return orderAfterCaller(operations.get(0));
        } catch (JcclException e) {
            operations.forEach(Operation::releaseMemory);
            throw e;
        }
    }
}
