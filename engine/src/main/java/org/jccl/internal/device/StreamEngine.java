package org.jccl.internal.device;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jccl.Device;
import org.jccl.FailureContext;
import org.jccl.JcclException;
import org.jccl.Stream;
import org.jccl.Work;
import org.jccl.internal.backend.DeviceRuntimes;
import org.jccl.internal.backend.VirtualThreads;
import org.jccl.internal.device.failures.GroupOrder;
import org.jccl.internal.device.failures.StreamClocks;
import org.jccl.internal.device.failures.StreamGroup;
import org.jccl.internal.diagnosis.DesyncDetector;
import org.jccl.internal.engine.Engine;
import org.jccl.internal.operation.BounceBuffer;
import org.jccl.internal.operation.Operation;
import org.jccl.spi.CallLock;
import org.jccl.spi.CleanUp;
import org.jccl.spi.DeviceRuntime;
import org.jccl.spi.OperationKind;
import org.jccl.spi.StreamCommunicator;

/**
 * The engine of libraries that enqueue on device streams.
 *
 * <p>An asynchronous operation waits on the communication stream for an event on the caller's
 * stream, runs there, and is followed by its end event. A synchronous operation is enqueued on the
 * caller's stream; see {@link SynchronousCalls}. The watchdog releases memory and events when an
 * end event has passed.
 */
public final class StreamEngine extends Engine implements StreamGroup {

    /** After so many issued works, the completed ones release their memory and events. */
    private static final int COMPLETE_EVERY = 32;

    private final StreamCommunicator communicator;
    private final DeviceRuntime runtime;
    private final Device device;
    private final long stream;
    private final BounceBuffer bounce;
    private final SynchronousCalls synchronousCalls;
    final WorkEvents events;
    private final GroupOrder order;
    private final CallerOrder callerOrder;
    final WorkCompletion completion;

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
        this.events = new WorkEvents(runtime, context, stream);
        this.bounce =
                new BounceBuffer(
                        new StreamScratch(
                                runtime, device, stream, () -> closed, events::hasCaptured));
        this.order = new GroupOrder(device, this, context, failure);
        this.callerOrder = new CallerOrder(runtime, device, events, order);
        this.completion = new WorkCompletion(this, runtime, device, running, events, order);
        this.synchronousCalls = new SynchronousCalls(runtime, device, running, failure);
        failure.pollWith(this::checkFailures);
        order.open();
    }

    @Override
    public Operation newOperation() {
        return borrow();
    }

    @Override
    public Work submit(Operation operation) {
        lock(operation);
        try {
            admit(operation);
            enterLibrary(operation);
            try {
                return submitEntered(operation);
            } finally {
                running.leave();
            }
        } finally {
            issuing.unlock();
        }
    }

    private DeviceWork submitEntered(Operation operation) {
        DeviceWork work = begin(operation, callerOrder.orderAfterCaller(operation));
        try {
            events.recordStart(operation, work);
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
        lock(operations);
        try {
            admit(operations);
            enterLibrary(operations);
            try {
                return submitBatchEntered(operations);
            } finally {
                running.leave();
            }
        } finally {
            issuing.unlock();
        }
    }

    /** Waits no longer than the group is usable: another thread may never leave the library. */
    private void lock(Operation operation) {
        if (!issuing.lock()) {
            reportFailure();
            throw refused(operation);
        }
    }

    private void lock(List<Operation> operations) {
        if (!issuing.lock()) {
            reportFailure();
            throw refused(operations);
        }
    }

    private List<Work> submitBatchEntered(List<Operation> operations) {
        List<DeviceWork> begun = new ArrayList<>(operations.size());
        boolean captured = callerOrder.orderAfterCaller(operations);
        for (Operation operation : operations) {
            begun.add(begin(operation, captured));
        }
        int finished = 0;
        try {
            for (int i = 0; i < begun.size(); i++) {
                events.recordStart(operations.get(i), begun.get(i));
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
     * Counts this thread as inside the library until it leaves. Closing waits for it, but not for
     * the lock, which a thread may hold that is blocked inside the library.
     */
    private void enterLibrary(Operation operation) {
        reportFailure();
        synchronized (running) {
            requireUsable(operation);
            running.enter();
        }
    }

    private void enterLibrary(List<Operation> operations) {
        reportFailure();
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
                order.clocks().addCaptured(completion.timeline);
            } else {
                completion.add(work);
            }
        }
        if (stream == StreamClocks.DEFAULT && !captured) {
            // The device has no other: what callers enqueue from now on is behind the work.
            order.clocks().add(stream, completion.timeline, work.position());
        }
        return work;
    }

    private void number(Operation operation) {
        if (operation.kind.isCollective()) {
            collectives.add(operation);
        }
    }

    /** Records the end of a work that the library has enqueued. */
    private void issued(DeviceWork work) {
        issuedSinceCompletion++;
        if (issuedSinceCompletion >= COMPLETE_EVERY && !work.isCaptured()) {
            // Works that nobody awaits release their memory here, not only at the next tick. A
            // thread that captures a graph must not query events.
            issuedSinceCompletion = 0;
            completion.completePassed();
        }
        events.recordEnd(work);
        if (work.isCaptured()) {
            // The graph runs it later, as often as the program launches it, on memory of the
            // program.
            running.endAndGiveBack(work.complete(null, true, System.nanoTime()), null);
        }
    }

    /**
     * Gives up a work that the device may have begun. The group has failed, so the watchdog ends
     * it, and releases its memory once the device is done with it.
     */
    private void abandon(DeviceWork work) {
        try {
            events.recordEnd(work);
            if (!work.isCaptured()) {
                return;
            }
        } catch (JcclException e) {
            // The device is beyond use, so nothing reads the memory any more.
            CleanUp.log(context.toString(), e);
        }
        JcclException cause = failure.get();
        running.endAndGiveBack(work.complete(cause, false, System.nanoTime()), cause);
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
        lock(operation);
        try {
            admit(operation);
            enterLibrary(operation);
            try {
                caller = runEntered(operation);
            } finally {
                running.leave();
            }
        } finally {
            issuing.unlock();
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
        Stream caller = callerOrder.enter(operation);
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
            // A device that cannot be made current has no stream to continue with.
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

    /** Called by threads that have waited for something that is ordered after this group. */
    private void checkFailures() {
        pollAsyncError();
        // An event may report what its stream does not.
        completion.completePassed();
        completion.checkStreams();
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
        completion.completeAll();
        failOn(synchronousCalls::poll);
    }

    @Override
    public void completeEnded() {
        completion.completePassed();
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
            events.destroyAll();
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
}
