package org.jccl.internal.device;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import org.jccl.Device;
import org.jccl.FailureContext;
import org.jccl.JcclException;
import org.jccl.NativeException;
import org.jccl.Stream;
import org.jccl.Work;
import org.jccl.internal.backend.DeviceRuntimes;
import org.jccl.internal.backend.VirtualThreads;
import org.jccl.internal.device.failures.EventClock;
import org.jccl.internal.device.failures.GroupOrder;
import org.jccl.internal.device.failures.StreamClocks;
import org.jccl.internal.device.failures.StreamGroup;
import org.jccl.internal.device.failures.Timeline;
import org.jccl.internal.diagnosis.DesyncDetector;
import org.jccl.internal.engine.Engine;
import org.jccl.internal.memory.DeviceMemory;
import org.jccl.internal.memory.ScratchMemory;
import org.jccl.internal.operation.BounceBuffer;
import org.jccl.internal.operation.MemoryUses;
import org.jccl.internal.operation.Operation;
import org.jccl.spi.CallLock;
import org.jccl.spi.CleanUp;
import org.jccl.spi.DeviceRuntime;
import org.jccl.spi.OperationKind;
import org.jccl.spi.Polling;
import org.jccl.spi.StreamCommunicator;

/**
 * The engine of libraries that enqueue on device streams.
 *
 * <p>An asynchronous operation waits on the communication stream for an event on the caller's
 * stream, runs there, and is followed by its end event. A synchronous operation is enqueued on the
 * caller's stream; see {@link SynchronousCalls}. The watchdog releases memory and events when an
 * end event has passed.
 */
public final class StreamEngine extends Engine implements StreamGroup, MemoryUses.Group {

    /** After so many issued works, the completed ones release their memory and events. */
    private static final int COMPLETE_EVERY = 32;

    private static final int SPINS = 200;

    private final StreamCommunicator communicator;
    private final DeviceRuntime runtime;
    private final Device device;
    private final long stream;

    /** Before and behind works. */
    private final EventPool events;

    /** Around operations that have observers. */
    private final EventPool timedEvents;

    /**
     * Events that belong to a captured graph: they cannot be queried, so they are not reused.
     * Guarded by the lock under which operations are issued, until no thread is inside any more.
     */
    private final List<Long> capturedEvents = new ArrayList<>();

    private final BounceBuffer bounce;
    private final SynchronousCalls synchronousCalls;
    private final GroupOrder order;

    /** The works, numbered by their positions on the stream. */
    private final Timeline timeline = new Timeline(failure);

    private final WorkRing works = new WorkRing(running);
    private final Predicate<DeviceWork> hasPassed = this::hasPassed;

    /** An operation whose work failed, while the device may still use its memory. */
    private record Draining(Operation operation, DeviceWork work) {}

    /** Guarded by itself. */
    private final List<Draining> draining = new ArrayList<>();

    /**
     * Held while the library enqueues, which may block, and from the comparison of a call until
     * then: the watchdog never takes it.
     */
    private final CallLock issuing = new CallLock(() -> !isUsable());

    /** Held while the communication stream is checked, which other groups do as well. */
    private final Object checking = new Object();

    /** Whether the communication stream is gone; guarded by checking. */
    private boolean destroyed;

    /** Guarded by issuing. */
    private int issuedSinceCompletion;

    /** Creates an engine with a communication stream of its own. */
    public StreamEngine(
            StreamCommunicator communicator,
            FailureContext context,
            Duration timeout,
            DesyncDetector detector,
            DeviceRuntime runtime,
            Device device,
            boolean highPriority) {
        super(communicator, context, timeout, detector);
        this.communicator = communicator;
        this.runtime = runtime;
        this.device = device;
        DeviceRuntimes.enter(runtime, device);
        this.stream = runtime.createStream(highPriority);
        this.events = new EventPool(runtime, false);
        this.timedEvents = new EventPool(runtime, true);
        this.bounce = new BounceBuffer(new Scratch());
        this.order = new GroupOrder(device, this, context, failure);
        this.synchronousCalls = new SynchronousCalls(runtime, device, running, failure, context);
        failure.pollWith(this::checkFailures);
        order.open();
    }

    @Override
    public Operation newOperation() {
        return borrow();
    }

    @Override
    public Work submit(Operation operation) {
        enter(operation);
        try {
            return submitEntered(operation);
        } finally {
            leave();
        }
    }

    private DeviceWork submitEntered(Operation operation) {
        boolean captured;
        try {
            captured = orderAfterCaller(operation);
        } catch (JcclException e) {
            operation.releaseMemory();
            throw e.at(contextOf(operation));
        }
        DeviceWork work = begin(operation, captured);
        try {
            recordStart(operation, work);
            if (bounce.needs(operation)) {
                bounce.before(operation);
                operation.call(communicator, stream);
                bounce.after(operation);
            } else {
                operation.call(communicator, stream);
            }
            issued(work);
            return work;
        } catch (Throwable e) {
            JcclException cause = notStarted(e, operation);
            abandon(work);
            reportFailure();
            throw cause.forCaller();
        }
    }

    @Override
    public boolean flattensLists() {
        return false;
    }

    @Override
    public List<Work> submitBatch(List<Operation> operations) {
        enter(operations);
        try {
            return submitBatchEntered(operations);
        } finally {
            leave();
        }
    }

    private List<Work> submitBatchEntered(List<Operation> operations) {
        boolean captured;
        try {
            captured = orderAfterCaller(operations.get(0));
        } catch (JcclException e) {
            operations.forEach(Operation::releaseMemory);
            throw e.at(contextOf(operations.get(0)));
        }
        List<DeviceWork> begun = new ArrayList<>(operations.size());
        for (Operation operation : operations) {
            begun.add(begin(operation, captured));
        }
        int finished = 0;
        try {
            for (int i = 0; i < begun.size(); i++) {
                recordStart(operations.get(i), begun.get(i));
            }
            enqueueTogether(operations);
            for (; finished < begun.size(); finished++) {
                issued(begun.get(finished));
            }
        } catch (Throwable e) {
            JcclException cause = failed(e, operations.get(0));
            begun.subList(finished, begun.size()).forEach(this::abandon);
            reportFailure();
            throw cause.forCaller();
        }
        return List.copyOf(begun);
    }

    /**
     * Takes the issuing lock, unless the group is no longer usable: another thread may never leave
     * the library. Counts this thread as inside the library until it leaves. Closing waits for it,
     * but not for the lock, which a thread may hold that is blocked inside the library.
     */
    private void enter(Operation operation) {
        if (!issuing.lock()) {
            reportFailure();
            throw refused(operation);
        }
        boolean entered = false;
        try {
            admit(operation);
            reportFailure();
            synchronized (running) {
                requireUsable(operation);
                running.enter();
            }
            entered = true;
        } finally {
            if (!entered) {
                issuing.unlock();
            }
        }
    }

    /** The same for operations that are issued together. */
    private void enter(List<Operation> operations) {
        if (!issuing.lock()) {
            reportFailure();
            throw refused(operations);
        }
        boolean entered = false;
        try {
            admit(operations);
            reportFailure();
            synchronized (running) {
                requireUsable(operations);
                running.enter();
            }
            entered = true;
        } finally {
            if (!entered) {
                issuing.unlock();
            }
        }
    }

    private void leave() {
        running.leave();
        issuing.unlock();
    }

    /**
     * Makes the device current, and returns the caller's stream, behind which an operation may be
     * issued. If this throws, nothing was issued, and the group stays usable unless the device has
     * failed.
     */
    private NativeStream caller(Operation operation) {
        try {
            DeviceRuntimes.enter(runtime, device);
        } catch (NativeException e) {
            throw deviceFailed(e, operation);
        }
        NativeStream caller = NativeStream.current(device);
        // A stream that was closed in its scope still exists, but has no deadlines any more.
        caller.requireOpen();
        order.issue(caller.handle());
        return caller;
    }

    /** The communication stream waits for the caller's; returns whether that captures a graph. */
    private boolean orderAfterCaller(Operation operation) {
        long caller = caller(operation).handle();
        try {
            boolean captured = runtime.isCapturing(caller);
            long event = events.take();
            runtime.recordEvent(event, caller);
            runtime.waitEvent(stream, event);
            if (captured) {
                capturedEvents.add(event);
            } else {
                events.giveBack(event);
            }
            return captured;
        } catch (NativeException e) {
            throw deviceFailed(e, operation);
        }
    }

    /** Other ranks wait for this one, which must not close the group as if nothing had happened. */
    private JcclException deviceFailed(NativeException cause, Operation operation) {
        JcclException failed = cause.at(contextOf(operation));
        fail(failed);
        return failed;
    }

    private void enqueueTogether(List<Operation> operations) {
        communicator.batchStart();
        try {
            for (Operation operation : operations) {
                operation.call(communicator, stream);
            }
        } catch (RuntimeException | Error e) {
            try {
                communicator.batchEnd();
            } catch (JcclException end) {
                // The failure in the batch says more than the error of its end.
                e.addSuppressed(end);
            }
            throw e;
        }
        communicator.batchEnd();
    }

    private DeviceWork begin(Operation operation, boolean captured) {
        long now = System.nanoTime();
        DeviceWork work;
        synchronized (running) {
            number(operation);
            running.begin(operation, now);
            work = new DeviceWork(this, operation, captured);
            if (captured) {
                order.clocks().addCaptured(timeline);
            } else {
                work.position(works.add(work));
            }
        }
        if (stream == StreamClocks.DEFAULT && !captured) {
            // The device has no other: what callers enqueue from now on is behind the work.
            order.clocks().add(stream, timeline, work.position());
        }
        return work;
    }

    private void number(Operation operation) {
        if (operation.kind.isCollective()) {
            collectives.add(operation);
        }
    }

    /** Records the start of an operation that has observers, before the library enqueues it. */
    private void recordStart(Operation operation, DeviceWork work) {
        if (operation.isObserved() && !work.isCaptured()) {
            long start = timedEvents.take();
            operation.startEvent = start;
            work.timed();
            runtime.recordEvent(start, stream);
        }
    }

    private void recordEnd(DeviceWork work) {
        long end = poolOf(work).take();
        runtime.recordEvent(end, stream);
        if (work.isCaptured()) {
            capturedEvents.add(end);
        }
        work.issued(end);
    }

    private EventPool poolOf(DeviceWork work) {
        return work.isTimed() ? timedEvents : events;
    }

    /** Records the end of a work that the library has enqueued. */
    private void issued(DeviceWork work) {
        issuedSinceCompletion++;
        if (issuedSinceCompletion >= COMPLETE_EVERY && !work.isCaptured()) {
            // Works that nobody awaits release their memory here, not only at the next tick. A
            // thread that captures a graph must not query events.
            issuedSinceCompletion = 0;
            completePassed();
        }
        recordEnd(work);
        if (work.isCaptured()) {
            // The graph runs it later, as often as the program launches it, on memory of the
            // program.
            running.endAndGiveBack(work.complete(null, true), null);
        }
    }

    /**
     * Gives up a work that the device may have begun. The group has failed, so the watchdog ends
     * it, and releases its memory once the device is done with it.
     */
    private void abandon(DeviceWork work) {
        try {
            recordEnd(work);
            if (!work.isCaptured()) {
                return;
            }
        } catch (JcclException e) {
            // The device is beyond use, so nothing reads the memory any more.
            CleanUp.log(context.toString(), e);
        }
        JcclException cause = failure.get();
        running.endAndGiveBack(work.complete(cause, false), cause);
    }

    @Override
    public int run(Operation operation) {
        int source = operation.kind == OperationKind.RECV ? operation.peer : -1;
        if (bounce.needs(operation) || continuesAfterFailures(NativeStream.current(device))) {
            // The communication stream orders scratch memory alone, and stops at failures.
            submit(operation).await();
            return source;
        }
        boolean barrier = operation.kind == OperationKind.BARRIER;
        Stream caller;
        enter(operation);
        try {
            caller = runEntered(operation);
        } finally {
            leave();
        }
        if (barrier && !caller.isCapturing()) {
            awaitBarrier(caller);
        }
        return source;
    }

    private boolean continuesAfterFailures(NativeStream caller) {
        return !caller.isOwned() && runtime.continuesAfterFailures();
    }

    /** Enqueues it on the caller's stream, which is returned. */
    private Stream runEntered(Operation operation) {
        Stream caller;
        try {
            caller = caller(operation);
        } catch (JcclException e) {
            operation.releaseMemory();
            throw e.at(contextOf(operation));
        }
        synchronized (running) {
            number(operation);
            // The library may block here, as it does to reach peers for the first time.
            running.beginSynchronous(operation);
        }
        try {
            operation.call(communicator, caller.handle());
        } catch (Throwable e) {
            JcclException cause = notStarted(e, operation);
            // Not before, which keeps what the library may still use.
            operation.releaseMemory();
            running.reportEnd(operation, cause);
            reportFailure();
            throw cause.forCaller();
        } finally {
            running.leaveLibrary(operation);
        }
        synchronousCalls.add(operation, caller);
        return caller;
    }

    private void awaitBarrier(Stream caller) {
        order.clocks().synchronize(caller.handle(), millis -> awaitEnd(caller, millis));
        if (failure.isSet()) {
            reportFailure();
            throw failure.get().forCaller();
        }
    }

    private boolean awaitEnd(Stream caller, long millis) {
        try {
            return runtime.awaitStream(caller.handle(), millis);
        } catch (JcclException e) {
            // A device may report the abort instead; the first cause says more.
            fail(e.at(context));
            return true;
        }
    }

    /** The failure of the group, if there is one, is reported to the calling thread now. */
    void reportFailure() {
        if (failure.isSet() && !VirtualThreads.isCurrent()) {
            // A device that cannot be made current has no stream to continue on.
            release(() -> order.reported(Stream.current(device).handle()));
        }
    }

    @Override
    public void beforeClose(Stream stream) {
        release(() -> synchronousCalls.recordLastSentinel(stream));
        if (runtime.destroyStreamWaits()) {
            // A destroyed stream cannot be checked for failures.
            failOn(() -> synchronousCalls.awaitLast(stream));
        }
    }

    @Override
    protected void onReplaced() {
        reportFailure();
    }

    /** Makes the calling thread's current stream wait for a work, unless the group has failed. */
    void orderCurrentStreamAfter(DeviceWork work) {
        if (!work.isCaptured() && (work.isDone() || failure.isSet() && isComplete(work))) {
            return;
        }
        DeviceRuntimes.enter(runtime, device);
        NativeStream caller = NativeStream.current(device);
        work.orderAfter(runtime, caller);
        if (!work.isCaptured()) {
            order.clocks().add(caller.handle(), timeline, work.position());
        }
    }

    @Override
    public FailureContext collision(long start, long end, boolean writes, int size) {
        if (!isUsable()) {
            return null; // the contents are undefined, and the program may start over with them
        }
        NativeStream current = NativeStream.current(device);
        for (DeviceWork work : works.list()) {
            FailureContext found = work.collision(current, start, end, writes, size);
            if (found != null
                    && !order.clocks().isAfter(current.handle(), timeline, work.position())
                    && !current.isCapturing() // a graph runs later, and nothing may be queried now
                    && !isComplete(work)) {
                return found;
            }
        }
        return synchronousCalls.collision(current, start, end, writes, size);
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

    /** Takes the end event of a complete work back. */
    void giveBackEnd(DeviceWork work) {
        poolOf(work).giveBack(work.endEvent());
    }

    /** Waits until a work is complete; returns false if the deadline passes first. */
    boolean pollUntil(DeviceWork work, long deadline) {
        setDeviceForQuery(work);
        for (long polls = 0; !completeIfReady(work); polls++) {
            if (deadline != Long.MAX_VALUE && System.nanoTime() - deadline >= 0) {
                return false;
            }
            Polling.pause(polls, SPINS);
        }
        return true;
    }

    /** Completes a work as {@link #completeIfReady}, on a thread of the program. */
    boolean isComplete(DeviceWork work) {
        setDeviceForQuery(work);
        return completeIfReady(work);
    }

    private void setDeviceForQuery(DeviceWork work) {
        if (!work.isDone()) {
            try { // not with failOn, whose argument would be garbage
                DeviceRuntimes.setDeviceForQuery(runtime, device);
            } catch (JcclException e) {
                fail(e.at(context));
            }
        }
    }

    /** Completes a work whose end event has passed, or whose group has failed; never blocks. */
    private boolean completeIfReady(DeviceWork work) {
        if (work.isDone()) {
            return true;
        }
        boolean passed = hasPassed(work);
        if (!passed && !failure.isSet()) {
            return false;
        }
        if (passed) {
            ended(work);
        }
        JcclException cause = failure.get();
        Operation operation = work.complete(cause, passed);
        if (operation != null) {
            if (passed) {
                giveBackEvents(operation, work);
                running.endAndGiveBack(operation, cause);
            } else {
                running.reportEnd(operation, cause);
                synchronized (draining) {
                    draining.add(new Draining(operation, work));
                }
            }
        }
        return true;
    }

    private boolean hasPassed(DeviceWork work) {
        try {
            return work.hasPassed(runtime);
        } catch (JcclException e) {
            fail(e.at(context));
            return false;
        }
    }

    /** Completes works from the oldest on, up to one that still runs. */
    private void completePassed() {
        DeviceWork[] passed = works.takePassed(hasPassed);
        if (passed.length == 0) {
            return;
        }
        ended(passed[passed.length - 1]);
        JcclException cause = failure.get();
        Operation[] ended = new Operation[passed.length];
        int count = 0;
        for (DeviceWork work : passed) {
            Operation operation = work.complete(cause, true);
            if (operation != null) {
                giveBackEvents(operation, work);
                ended[count++] = operation;
            }
        }
        running.endAndGiveBack(ended, count, cause);
    }

    /** The device has passed the end event of a work, and so of all works before it. */
    private void ended(DeviceWork work) {
        checkContinuingStreams();
        timeline.ended(work.position());
    }

    /** On a device that continues after failures, an event may complete behind a failure. */
    private void checkContinuingStreams() {
        if (runtime.continuesAfterFailures()) {
            order.checkStreams();
        }
    }

    /** Takes the events of a work back whose end event the device has passed. */
    private void giveBackEvents(Operation operation, DeviceWork work) {
        long start = operation.startEvent;
        if (start != 0) {
            operation.startEvent = 0;
            // Observers get no time if this fails; the failure of the device is reported elsewhere.
            release(
                    () ->
                            operation.measured(
                                    (long) (runtime.elapsedMillis(start, work.endEvent()) * 1e6)));
            timedEvents.giveBack(start);
        }
        if (work.leavesEndEvent()) {
            giveBackEnd(work);
        }
    }

    /** Completes the works of a failed group, and releases what failed works held. */
    private void completeFailed() {
        if (failure.isSet()) {
            for (DeviceWork work : works.takeIssued()) {
                completeIfReady(work);
            }
        }
        for (Draining each : takeDrained()) {
            giveBackEvents(each.operation, each.work);
            running.endAndGiveBack(each.operation, failure.get());
        }
    }

    private List<Draining> takeDrained() {
        synchronized (draining) {
            if (draining.isEmpty()) {
                return List.of();
            }
            List<Draining> drained = draining.stream().filter(this::isDrained).toList();
            draining.removeAll(drained);
            return drained;
        }
    }

    private boolean isDrained(Draining each) {
        try {
            return runtime.queryEvent(each.work.endEvent());
        } catch (JcclException e) {
            // The device is beyond use, so nothing reads the memory any more.
            CleanUp.log(context.toString(), e);
            return true;
        }
    }

    /** Called by threads that have waited for something that is ordered after this group. */
    private void checkFailures() {
        pollAsyncError();
        // An event may report what its stream does not.
        completePassed();
        checkContinuingStreams();
    }

    @Override
    public void checkStreams() {
        try {
            synchronized (checking) {
                if (!destroyed) {
                    runtime.checkStream(stream);
                }
            }
            synchronousCalls.checkStreams();
        } catch (JcclException e) {
            fail(e.at(context));
        }
    }

    private void failOn(Runnable question) {
        try {
            question.run();
        } catch (JcclException e) {
            fail(e.at(context));
        }
    }

    /** Operations that were issued after this group's would read undefined tensor contents. */
    @Override
    public void beforeAbort(JcclException cause) {
        order.failLaterGroups(cause);
    }

    @Override
    public void onFailure() {}

    @Override
    public void prepareWatching() {
        // The thread serves groups on several devices, so this is repeated at each tick.
        runtime.preparePollingThread(device.index());
    }

    @Override
    public void completeUnawaited() {
        completePassed();
        completeFailed();
        failOn(synchronousCalls::poll);
    }

    @Override
    public void completeEnded() {
        completePassed();
    }

    @Override
    public void close(Duration gracePeriod) {
        // Without the issuing lock: a thread may hold it that is blocked inside the library.
        if (!beginClosing()) {
            return;
        }
        // A device that is lost must not keep the group from ending.
        release(() -> DeviceRuntimes.enter(runtime, device));
        endOperations(gracePeriod);
        failure.close();
        order.close();
        if (running.isEmpty()) {
            // Otherwise the device still runs operations: leak the handles.
            release(bounce::close);
            release(synchronousCalls::close);
            release(this::freeCommunicator);
            capturedEvents.forEach(event -> release(() -> runtime.destroyEvent(event)));
            release(events::destroyAll);
            release(timedEvents::destroyAll);
            synchronized (checking) {
                destroyed = true;
            }
            release(() -> runtime.destroyStream(stream));
        }
    }

    /** A failed device or stream may refuse one release; the others must still happen. */
    private void release(Runnable end) {
        CleanUp.run(context.toString(), end);
    }

    /** Scratch memory of the device, used in the order of the communication stream. */
    private final class Scratch implements ScratchMemory {

        private final DeviceMemory memory = new DeviceMemory(runtime, device);

        /** Outgrown, while a graph may use it again. */
        private final List<Long> kept = new ArrayList<>();

        @Override
        public long allocate(long bytes) {
            return memory.allocate(bytes);
        }

        @Override
        public void free(long address) {
            if (closed) {
                memory.free(address);
            } else if (capturedEvents.isEmpty()) {
                memory.freeAfter(address, stream);
            } else {
                kept.add(address);
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
}
