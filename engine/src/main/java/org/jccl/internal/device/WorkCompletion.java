package org.jccl.internal.device;

import java.util.function.Predicate;
import org.jccl.Device;
import org.jccl.FailureContext;
import org.jccl.JcclException;
import org.jccl.Stream;
import org.jccl.internal.backend.DeviceRuntimes;
import org.jccl.internal.device.failures.EventClock;
import org.jccl.internal.device.failures.GroupOrder;
import org.jccl.internal.device.failures.Timeline;
import org.jccl.internal.engine.GroupFailure;
import org.jccl.internal.operation.Operation;
import org.jccl.internal.operation.RunningOperations;
import org.jccl.spi.DeviceRuntime;
import org.jccl.spi.Polling;

/**
 * Completes the works on a communication stream when the device has passed their end events, or
 * when the group has failed, or makes a caller's stream wait for them.
 */
final class WorkCompletion {

    private static final int SPINS = 200;

    private final StreamEngine engine;
    private final DeviceRuntime runtime;
    private final Device device;
    private final RunningOperations running;
    private final WorkEvents events;
    private final GroupOrder order;
    private final FailureContext context;
    private final GroupFailure failure;
    private final StreamWorks works;
    private final DrainingOperations draining;
    private final Predicate<DeviceWork> hasPassed = this::hasPassed;

    /** The works, numbered by their positions on the stream. */
    final Timeline timeline;

    WorkCompletion(
            StreamEngine engine,
            DeviceRuntime runtime,
            Device device,
            RunningOperations running,
            WorkEvents events,
            GroupOrder order) {
        this.engine = engine;
        this.runtime = runtime;
        this.device = device;
        this.running = running;
        this.events = events;
        this.order = order;
        this.context = engine.context;
        this.failure = engine.failure;
        this.works = new StreamWorks(running);
        this.draining = new DrainingOperations(runtime, context);
        this.timeline = new Timeline(failure);
    }

    /** Appends a work, which ends after all works before it. The caller has the monitor. */
    void add(DeviceWork work) {
        work.position(works.add(work));
    }

    private boolean hasPassed(DeviceWork work) {
        try {
            return work.hasPassed(runtime);
        } catch (JcclException e) {
            engine.fail(e.at(context));
            return false;
        }
    }

    /** The same as the next, on a thread of the program, which may have no current device. */
    boolean isComplete(DeviceWork work) {
        enterToAsk(work);
        return completeIfReady(work);
    }

    private void enterToAsk(DeviceWork work) {
        if (!work.isDone()) {
            try {
                DeviceRuntimes.setDeviceForQuery(runtime, device);
            } catch (JcclException e) {
                engine.fail(e.at(context));
            }
        }
    }

    /** Completes a work whose end event has passed, or whose group has failed; never blocks. */
    boolean completeIfReady(DeviceWork work) {
        if (work.isDone()) {
            return true;
        }
        boolean passed = hasPassed(work);
        if (!passed && !failure.isSet()) {
            return false;
        }
        if (passed) {
            checkStreams();
            timeline.ended(work.position());
        }
        JcclException cause = failure.get();
        Operation operation = work.complete(cause, passed, System.nanoTime());
        if (operation != null) {
            if (passed) {
                release(operation, work, cause);
            } else {
                running.reportEnd(operation, cause);
                draining.add(operation, work);
            }
        }
        return true;
    }

    private void release(Operation operation, DeviceWork work, JcclException cause) {
        events.giveBack(operation, work);
        running.endAndGiveBack(operation, cause);
    }

    /** Makes the calling thread's current stream wait for a work, unless the group has failed. */
    void orderCurrentStreamAfter(DeviceWork work) {
        if (!work.isCaptured() && (work.isDone() || failure.isSet() && isComplete(work))) {
            return;
        }
        DeviceRuntimes.enter(runtime, device);
        long caller = Stream.current(device).handle();
        work.orderAfter(runtime, caller);
        if (!work.isCaptured()) {
            order.clocks().add(caller, timeline, work.position());
        }
    }

    /** The end event of a work that is not complete, until the caller closes it. */
    NativeEvent eventOf(DeviceWork work) {
        return NativeEvent.lent(
                device,
                runtime,
                work.endEvent(),
                EventClock.after(timeline, work.position()),
                work::leaveEndEvent);
    }

    /** An event for a work that is complete. */
    NativeEvent completeEvent() {
        return NativeEvent.complete(device);
    }

    /** On a device that continues after failures, an event may complete behind a failure. */
    void checkStreams() {
        if (runtime.continuesAfterFailures()) {
            order.checkStreams();
        }
    }

    /** Completes works from the oldest on, up to one that still runs. */
    void completePassed() {
        DeviceWork[] passed = works.takePassed(hasPassed);
        if (passed.length == 0) {
            return;
        }
        checkStreams();
        timeline.ended(passed[passed.length - 1].position());
        long now = System.nanoTime();
        JcclException cause = failure.get();
        Operation[] ended = new Operation[passed.length];
        int count = 0;
        for (DeviceWork work : passed) {
            Operation operation = work.complete(cause, true, now);
            if (operation != null) {
                events.giveBack(operation, work);
                ended[count++] = operation;
            }
        }
        running.endAndGiveBack(ended, count, cause);
    }

    /** Completes all works that have passed or failed, and releases what failed works held. */
    void completeAll() {
        completePassed();
        if (failure.isSet()) {
            for (DeviceWork work : works.takeIssued()) {
                completeIfReady(work);
            }
        }
        draining.takePassed()
                .forEach(ended -> release(ended.operation(), ended.work(), failure.get()));
    }

    /** Waits until a work is complete; returns false if the deadline passes first. */
    boolean pollUntil(DeviceWork work, long deadline) {
        enterToAsk(work);
        for (long polls = 0; !completeIfReady(work); polls++) {
            if (deadline != Long.MAX_VALUE && System.nanoTime() - deadline >= 0) {
                return false;
            }
            Polling.pause(polls, SPINS);
        }
        return true;
    }
}
