package org.jccl.internal.device;

import java.util.ArrayList;
import java.util.List;
import org.jccl.FailureContext;
import org.jccl.JcclException;
import org.jccl.internal.operation.Operation;
import org.jccl.spi.CleanUp;
import org.jccl.spi.DeviceRuntime;

/** Operations whose works failed, while the device may still use their memory. */
final class DrainingOperations {

    /** An operation, and its work, whose end event the device passes when it is done with it. */
    record Draining(Operation operation, DeviceWork work) {}

    private final DeviceRuntime runtime;
    private final FailureContext context;
    private final List<Draining> draining = new ArrayList<>();

    DrainingOperations(DeviceRuntime runtime, FailureContext context) {
        this.runtime = runtime;
        this.context = context;
    }

    synchronized void add(Operation operation, DeviceWork work) {
        draining.add(new Draining(operation, work));
    }

    /** Takes off those that the device is done with. */
    synchronized List<Draining> takePassed() {
        if (draining.isEmpty()) {
            return List.of();
        }
        List<Draining> passed =
                draining.stream().filter(each -> hasPassed(each.work.endEvent())).toList();
        draining.removeAll(passed);
        return passed;
    }

    private boolean hasPassed(long event) {
        try {
            return runtime.queryEvent(event);
        } catch (JcclException e) {
            // The device is beyond use, so nothing reads the memory any more.
            CleanUp.log(context.toString(), e);
            return true;
        }
    }
}
