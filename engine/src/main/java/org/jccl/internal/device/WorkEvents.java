package org.jccl.internal.device;

import java.util.ArrayList;
import java.util.List;
import org.jccl.FailureContext;
import org.jccl.JcclException;
import org.jccl.internal.operation.Operation;
import org.jccl.spi.CleanUp;
import org.jccl.spi.DeviceRuntime;

/** The native events before and behind the works of a communication stream, pooled. */
final class WorkEvents {

    private final DeviceRuntime runtime;
    private final FailureContext context;
    private final long stream;
    private final EventPool events;

    /** Around operations that have observers. */
    private final EventPool timedEvents;

    /**
     * Events that belong to a captured graph: they cannot be queried, so they are not reused.
     * Guarded by the lock under which operations are issued, until no thread is inside any more.
     */
    private final List<Long> captured = new ArrayList<>();

    WorkEvents(DeviceRuntime runtime, FailureContext context, long stream) {
        this.runtime = runtime;
        this.context = context;
        this.stream = stream;
        this.events = new EventPool(runtime, false);
        this.timedEvents = new EventPool(runtime, true);
    }

    boolean hasCaptured() {
        return !captured.isEmpty();
    }

    /** The communication stream waits for what is enqueued on a caller's stream. */
    void orderAfter(long caller, boolean isCapturing) {
        long event = events.take();
        runtime.recordEvent(event, caller);
        runtime.waitEvent(stream, event);
        if (isCapturing) {
            captured.add(event);
        } else {
            events.giveBack(event);
        }
    }

    /** Records the start of an operation that has observers, before the library enqueues it. */
    void recordStart(Operation operation, DeviceWork work) {
        if (operation.isObserved() && !work.isCaptured()) {
            long start = timedEvents.take();
            operation.startEvent = start;
            work.timed();
            runtime.recordEvent(start, stream);
        }
    }

    void recordEnd(DeviceWork work) {
        long end = (work.isTimed() ? timedEvents : events).take();
        runtime.recordEvent(end, stream);
        if (work.isCaptured()) {
            captured.add(end);
        }
        work.issued(end);
    }

    /** Takes the events of a work back whose end event the device has passed. */
    void giveBack(Operation operation, DeviceWork work) {
        long start = operation.startEvent;
        if (start != 0) {
            operation.startEvent = 0;
            try {
                operation.measured((long) (runtime.elapsedMillis(start, work.endEvent()) * 1e6));
            } catch (JcclException e) {
                // Observers get no time; the failure of the device is reported elsewhere.
                CleanUp.log(context.toString(), e);
            }
            timedEvents.giveBack(start);
        }
        if (work.leavesEndEvent()) {
            giveBackEnd(work);
        }
    }

    /** Takes the end event of a complete work back. */
    void giveBackEnd(DeviceWork work) {
        (work.isTimed() ? timedEvents : events).giveBack(work.endEvent());
    }

    /** Destroys all events. A device that failed may refuse that. */
    void destroyAll() {
        String where = context.toString();
        captured.forEach(event -> CleanUp.run(where, () -> runtime.destroyEvent(event)));
        CleanUp.run(where, events::destroyAll);
        CleanUp.run(where, timedEvents::destroyAll);
    }
}
