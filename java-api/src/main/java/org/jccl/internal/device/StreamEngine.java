package org.jccl.internal.device;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Predicate;
import org.jccl.Device;
import org.jccl.FailureContext;
import org.jccl.GroupAbortedException;
import org.jccl.JcclException;
import org.jccl.Stream;
import org.jccl.Work;
import org.jccl.internal.backend.DeviceRuntimes;
import org.jccl.internal.backend.VirtualThreads;
import org.jccl.internal.diagnosis.DesyncDetector;
import org.jccl.internal.engine.Engine;
import org.jccl.internal.operation.BounceBuffer;
import org.jccl.internal.operation.Operation;
import org.jccl.spi.CleanUp;
import org.jccl.spi.DeviceRuntime;
import org.jccl.spi.OperationKind;
import org.jccl.spi.StreamCommunicator;

/**
 * The engine of libraries that enqueue on device streams.
 *
 * <p>An asynchronous operation waits on the communication stream for an event on the caller's
 * stream, runs there, and is followed by its end event. A synchronous one goes straight to the
 * caller's stream; see {@link SynchronousCalls}. The watchdog lets memory and events go when an end
 * event has passed.
 */
public final class StreamEngine extends Engine {

    private static final int SPINS = 200;
    private static final long PARK_NANOS = 20_000;

    /** So many works are issued between two looks at which have ended. */
    private static final int LOOK_EVERY = 32;

    private final StreamCommunicator communicator;
    private final DeviceRuntime runtime;
    private final Device device;
    private final EventPool events;

    /** Those around operations that somebody observes. */
    private final EventPool timedEvents;

    private final long stream;
    private final BounceBuffer bounce;
    private final SynchronousCalls synchronousCalls;
    private final StreamWorks works = new StreamWorks(running);
    private final Predicate<DeviceWork> hasPassed = this::hasPassed;
    private final DrainingOperations draining;
    private final StreamOrders orders;

    /** The works on the communication stream, numbered by their places. */
    private final Lane lane = new Lane(failure);

    /** Of other groups, what operations were issued after; guarded by the orders. */
    private final Dependencies awaited = new Dependencies();

    /** Held while operations go to the library, which may block: the watchdog never takes it. */
    private final Object issuing = new Object();

    /** Held while the communication stream is asked, which other groups do as well. */
    private final Object asking = new Object();

    /** Whether the communication stream is gone; guarded by asking. */
    private boolean destroyed;

    // Guarded by issuing, until nobody is inside any more.
    private final List<Long> capturedEvents = new ArrayList<>();
    private int issuedSinceLook;

    /**
     * Creates an engine with a communication stream of its own.
     *
     * @param communicator connected; the engine owns it
     * @param context group and rank
     * @param timeout deadline of each operation
     * @param detector compares the ranks when one is stuck
     * @param runtime drives the device
     * @param device the communicator's
     * @param highPriority whether the communication stream goes before others
     */
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
        this.events = new EventPool(runtime, false);
        this.timedEvents = new EventPool(runtime, true);
        DeviceRuntimes.enter(runtime, device);
        this.stream = runtime.createStream(highPriority);
        this.bounce =
                new BounceBuffer(
                        new StreamScratch(
                                runtime,
                                device,
                                stream,
                                () -> closed,
                                () -> !capturedEvents.isEmpty()));
        this.draining = new DrainingOperations(runtime, context);
        this.synchronousCalls = new SynchronousCalls(runtime, device, running, failure);
        this.orders = StreamOrders.of(device);
        failure.askWith(this::lookForFailures);
        orders.addEngine(this);
    }

    @Override
    public Operation newOperation() {
        return borrow();
    }

    @Override
    public Work submit(Operation operation) {
        admit(operation);
        synchronized (issuing) {
            comeInside(operation);
            try {
                return submitInside(operation);
            } finally {
                running.leave();
            }
        }
    }

    private DeviceWork submitInside(Operation operation) {
        DeviceWork work = begin(operation, orderAfterCaller(operation));
        try {
            recordStart(operation, work);
            if (bounce.needs(operation)) {
                callStaged(operation);
            } else {
                operation.call(communicator, stream);
            }
            issued(work);
            return work;
        } catch (Throwable e) {
            JcclException cause = notStarted(e, operation);
            abandon(work);
            tellFailure();
            throw cause;
        }
    }

    @Override
    public boolean flattensLists() {
        return false;
    }

    @Override
    public List<Work> submitBatch(List<Operation> operations) {
        admit(operations);
        synchronized (issuing) {
            comeInside(operations);
            try {
                return submitBatchInside(operations);
            } finally {
                running.leave();
            }
        }
    }

    private List<Work> submitBatchInside(List<Operation> operations) {
        List<DeviceWork> begun = new ArrayList<>(operations.size());
        boolean captured = orderAfterCaller(operations);
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
            tellFailure();
            throw cause;
        }
        return List.copyOf(begun);
    }

    /**
     * Counts this thread as inside until it leaves: closing waits for it, and does not need the
     * lock, which a thread may hold that the library does not let out.
     */
    private void comeInside(Operation operation) {
        tellFailure();
        synchronized (running) {
            requireUsable(operation);
            running.enter();
        }
    }

    private void comeInside(List<Operation> operations) {
        tellFailure();
        synchronized (running) {
            requireUsable(operations);
            running.enter();
        }
    }

    private void enqueueTogether(List<Operation> operations) {
        communicator.batchStart();
        try {
            for (Operation operation : operations) {
                operation.call(communicator, stream);
            }
        } catch (RuntimeException | Error e) {
            endBatchAfter(e);
            throw e;
        }
        communicator.batchEnd();
    }

    /** What failed in the batch says more than what its end answers then. */
    private void endBatchAfter(Throwable first) {
        try {
            communicator.batchEnd();
        } catch (JcclException e) {
            first.addSuppressed(e);
        }
    }

    /** Makes the device current, and returns the caller's current stream. */
    private Stream enter(Operation operation) {
        try {
            DeviceRuntimes.enter(runtime, device);
            NativeStream caller = NativeStream.current(device);
            // One that was closed in its scope lives on, but nobody follows what runs there.
            caller.requireOpen();
            return caller;
        } catch (JcclException e) {
            operation.releaseMemory();
            throw e;
        }
    }

    /**
     * Makes the communication stream wait for what the caller has enqueued. A failure here leaves
     * the group as it was: nothing was issued.
     *
     * @return whether the caller captures a graph
     */
    private boolean orderAfterCaller(Operation operation) {
        long caller = enter(operation).handle();
        try {
            orders.issue(caller, this);
            boolean captured = runtime.isCapturing(caller);
            long event = events.take();
            runtime.recordEvent(event, caller);
            runtime.waitEvent(stream, event);
            if (captured) {
                // It belongs to the capture for good: it can not be asked, so it is not used again.
                capturedEvents.add(event);
            } else {
                events.giveBack(event);
            }
            return captured;
        } catch (JcclException e) {
            operation.releaseMemory();
            throw e.at(contextOf(operation));
        }
    }

    private boolean orderAfterCaller(List<Operation> operations) {
        try {
            return orderAfterCaller(operations.get(0));
        } catch (JcclException e) {
            operations.forEach(Operation::releaseMemory);
            throw e;
        }
    }

    private DeviceWork begin(Operation operation, boolean captured) {
        long now = System.nanoTime();
        DeviceWork work;
        synchronized (running) {
            number(operation);
            running.begin(operation, now);
            work = new DeviceWork(this, operation, captured);
            if (captured) {
                orders.addCaptured(lane);
            } else {
                work.placed(works.add(work));
            }
        }
        if (stream == StreamOrders.DEFAULT && !captured) {
            // The device has no other: what callers enqueue from now on is behind the work.
            orders.add(stream, lane, work.place());
        }
        return work;
    }

    private void number(Operation operation) {
        if (operation.kind.isCollective()) {
            collectives.add(operation);
        }
    }

    private void callStaged(Operation operation) {
        bounce.before(operation);
        operation.call(communicator, stream);
        bounce.after(operation);
    }

    /** Marks the end of a work that the library has enqueued. */
    private void issued(DeviceWork work) {
        issuedSinceLook++;
        if (issuedSinceLook >= LOOK_EVERY && !work.isCaptured()) {
            // Works that nobody asks about give back what they hold here, not at the next tick. A
            // thread that captures must not ask.
            issuedSinceLook = 0;
            completePassed();
        }
        recordEnd(work);
        if (work.isCaptured()) {
            // The graph runs it later, as often as the user likes, on memory the user keeps.
            running.endAndGiveBack(work.complete(null, true, System.nanoTime()), null);
        }
    }

    /** Marks the start of an operation that somebody observes, before the library enqueues it. */
    private void recordStart(Operation operation, DeviceWork work) {
        if (operation.isObserved() && !work.isCaptured()) {
            long start = timedEvents.take();
            operation.startEvent = start;
            work.timed();
            runtime.recordEvent(start, stream);
        }
    }

    private void recordEnd(DeviceWork work) {
        long end = (work.isTimed() ? timedEvents : events).take();
        runtime.recordEvent(end, stream);
        if (work.isCaptured()) {
            capturedEvents.add(end);
        }
        work.issued(end);
    }

    /**
     * Gives up a work that the device may have begun. The group has failed, so the watchdog ends
     * it, and lets its memory go once the device is done with it.
     */
    private void abandon(DeviceWork work) {
        try {
            recordEnd(work);
            if (!work.isCaptured()) {
                return;
            }
        } catch (JcclException e) {
            // The device is beyond use, so nothing reads the memory any more.
            CleanUp.failed(context.toString(), e);
        }
        JcclException cause = failure.get();
        running.endAndGiveBack(work.complete(cause, false, System.nanoTime()), cause);
    }

    @Override
    public int run(Operation operation) {
        admit(operation);
        int source = operation.kind == OperationKind.RECV ? operation.peer : -1;
        if (bounce.needs(operation) || continuesAfterFailures(NativeStream.current(device))) {
            // The communication stream orders scratch memory alone, and stops at failures.
            submit(operation).await();
            return source;
        }
        boolean barrier = operation.kind == OperationKind.BARRIER;
        Stream caller;
        synchronized (issuing) {
            comeInside(operation);
            try {
                caller = runInside(operation);
            } finally {
                running.leave();
            }
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
    private Stream runInside(Operation operation) {
        Stream caller = enter(operation);
        issueAfter(caller, operation);
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
            tellFailure();
            throw cause;
        } finally {
            running.leaveLibrary(operation);
        }
        synchronousCalls.add(operation, caller);
        return caller;
    }

    private void issueAfter(Stream caller, Operation operation) {
        try {
            orders.issue(caller.handle(), this);
        } catch (JcclException e) {
            operation.releaseMemory();
            throw e;
        }
    }

    private void awaitBarrier(Stream caller) {
        orders.synchronize(caller.handle(), millis -> awaitEnd(caller, millis));
        if (failure.isSet()) {
            tellFailure();
            throw failure.get();
        }
    }

    private boolean awaitEnd(Stream caller, long millis) {
        try {
            return runtime.awaitStream(caller.handle(), millis);
        } catch (JcclException e) {
            // Of a device that can not let go of what was aborted: the first cause says more.
            fail(e.at(context));
            return true;
        }
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
            orders.add(caller, lane, work.place());
        }
    }

    /** Notes that the calling thread, if the group has failed, is told so now. */
    void tellFailure() {
        if (failure.isSet() && !VirtualThreads.isCurrent()) {
            // A device that can not be made current has no stream to go on with.
            release(() -> orders.told(Stream.current(device).handle(), failure));
        }
    }

    /** Called before a stream is closed, while synchronous calls on it may be under way. */
    void beforeClose(Stream stream) {
        release(() -> synchronousCalls.markLast(stream));
        if (runtime.destroyStreamWaits()) {
            // Nothing can be asked about what failed there when it is gone.
            failOn(() -> synchronousCalls.awaitLast(stream));
        }
    }

    @Override
    protected void onReplaced() {
        tellFailure();
    }

    StreamOrders orders() {
        return orders;
    }

    /** What operations were issued after, of other groups; guarded by the orders. */
    Dependencies awaited() {
        return awaited;
    }

    /** Asked by whoever has waited for what was ordered after this group's operations. */
    private void lookForFailures() {
        askLibrary();
        // An event may tell what its stream does not.
        completePassed();
        lookAtStreams();
    }

    /** Where what waits for an operation that failed on the device goes on: notices what failed. */
    private void lookAtStreams() {
        if (runtime.continuesAfterFailures()) {
            lookAtOwnStreams();
            for (StreamEngine before : StreamOrders.before(this)) {
                before.lookAtOwnStreams();
                if (before.failure.isSet()) {
                    // Whoever noticed it may not have come as far as to say so here.
                    failAfter(before.failure.get());
                }
            }
        }
    }

    private void lookAtOwnStreams() {
        try {
            checkStream();
            synchronousCalls.checkStreams();
        } catch (JcclException e) {
            fail(e.at(context));
        }
    }

    private void checkStream() {
        synchronized (asking) {
            if (!destroyed) {
                runtime.checkStream(stream);
            }
        }
    }

    private void failOn(Runnable question) {
        try {
            question.run();
        } catch (JcclException e) {
            fail(e.at(context));
        }
    }

    private boolean hasPassed(DeviceWork work) {
        try {
            return work.hasPassed(runtime);
        } catch (JcclException e) {
            fail(e.at(context));
            return false;
        }
    }

    /** The same as the next, in a thread of the program, which may have no device yet. */
    boolean isComplete(DeviceWork work) {
        enterToAsk(work);
        return completeIfReady(work);
    }

    private void enterToAsk(DeviceWork work) {
        if (!work.isDone()) {
            try {
                DeviceRuntimes.enterForQuestion(runtime, device);
            } catch (JcclException e) {
                fail(e.at(context));
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
            lookAtStreams();
            lane.ended(work.place());
        }
        JcclException cause = failure.get();
        Operation operation = work.complete(cause, passed, System.nanoTime());
        if (operation != null) {
            if (passed) {
                letGo(operation, work, cause);
            } else {
                running.reportEnd(operation, cause);
                draining.add(operation, work);
            }
        }
        return true;
    }

    private void letGo(Operation operation, DeviceWork work, JcclException cause) {
        giveBackEvents(operation, work);
        running.endAndGiveBack(operation, cause);
    }

    /** The device has passed the end event. */
    private void giveBackEvents(Operation operation, DeviceWork work) {
        long start = operation.startEvent;
        if (start != 0) {
            operation.startEvent = 0;
            try {
                operation.measured((long) (runtime.elapsedMillis(start, work.endEvent()) * 1e6));
            } catch (JcclException e) {
                // Then nobody learns the time; what is wrong with the device shows elsewhere.
                CleanUp.failed(context.toString(), e);
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

    /** Completes works from the oldest on, up to one that still runs. */
    private void completePassed() {
        DeviceWork[] passed = works.takePassed(hasPassed);
        if (passed.length == 0) {
            return;
        }
        lookAtStreams();
        lane.ended(passed[passed.length - 1].place());
        long now = System.nanoTime();
        JcclException cause = failure.get();
        Operation[] ended = new Operation[passed.length];
        int count = 0;
        for (DeviceWork work : passed) {
            Operation operation = work.complete(cause, true, now);
            if (operation != null) {
                giveBackEvents(operation, work);
                ended[count++] = operation;
            }
        }
        running.endAndGiveBack(ended, count, cause);
    }

    /**
     * Waits until a work is complete; false when the time is over. Spins first, since most are
     * short.
     */
    boolean pollUntil(DeviceWork work, long deadline) {
        enterToAsk(work);
        for (int i = 0; !completeIfReady(work); i++) {
            if (deadline != Long.MAX_VALUE && System.nanoTime() - deadline >= 0) {
                return false;
            }
            if (i < SPINS) {
                Thread.onSpinWait();
            } else {
                LockSupport.parkNanos(PARK_NANOS);
            }
        }
        return true;
    }

    /** What was issued after operations of this group would run on what they leave. */
    @Override
    public void beforeAbort(JcclException cause) {
        for (StreamEngine waiting : StreamOrders.waitingFor(failure)) {
            waiting.failAfter(cause);
        }
    }

    private void failAfter(JcclException cause) {
        fail(
                new GroupAbortedException(
                        context,
                        "operations were issued after those of a group that failed ("
                                + cause.getMessage()
                                + ")",
                        cause));
    }

    @Override
    public void onFailure() {}

    @Override
    public void prepareWatching() {
        // The thread serves groups on several devices, so this is said again at each tick.
        runtime.preparePollingThread(device.index());
    }

    @Override
    public void completeUnawaited() {
        completePassed();
        if (failure.isSet()) {
            for (DeviceWork work : works.takeIssued()) {
                completeIfReady(work);
            }
        }
        draining.takePassed()
                .forEach(ended -> letGo(ended.operation(), ended.work(), failure.get()));
        failOn(synchronousCalls::follow);
    }

    @Override
    public void completeEnded() {
        completePassed();
    }

    @Override
    public void close(Duration patience) {
        // Without the lock: the library may not let out the thread that has it.
        if (!beginClosing()) {
            return;
        }
        // A device that is lost must not keep the group from ending.
        release(() -> DeviceRuntimes.enter(runtime, device));
        endOperations(patience);
        failure.close();
        orders.removeEngine(this);
        if (running.isEmpty()) {
            // Otherwise the device still runs them: losing handles beats freeing them there.
            release(bounce::close);
            release(synchronousCalls::close);
            release(this::freeCommunicator);
            capturedEvents.forEach(event -> release(() -> runtime.destroyEvent(event)));
            release(events::destroyAll);
            release(timedEvents::destroyAll);
            synchronized (asking) {
                destroyed = true;
            }
            release(() -> runtime.destroyStream(stream));
        }
    }

    /** A device or stream that failed refuses some of this, which must not keep the rest. */
    private void release(Runnable end) {
        CleanUp.run(context.toString(), end);
    }
}
