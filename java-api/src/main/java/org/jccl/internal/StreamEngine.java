package org.jccl.internal;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.jccl.Device;
import org.jccl.FailureContext;
import org.jccl.GroupAbortedException;
import org.jccl.JcclException;
import org.jccl.Stream;
import org.jccl.Work;
import org.jccl.spi.CleanUp;
import org.jccl.spi.Communicator;
import org.jccl.spi.DeviceRuntime;

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

    /** How long a device may take to let go of what was aborted. */
    private static final Duration ABORT_PATIENCE = Duration.ofSeconds(10);

    /** A failed work's memory, which the device may still use. */
    private record Draining(Operation operation, long endEvent) {}

    private final DeviceRuntime runtime;
    private final Device device;
    private final EventPool events;
    private final long stream;
    private final Staging staging;
    private final SynchronousCalls synchronousCalls;

    /** In the order of the communication stream, which is the order in which they end. */
    private final ArrayDeque<DeviceWork> works = new ArrayDeque<>();

    private final List<Draining> draining = new ArrayList<>();
    private final List<Long> capturedEvents = new ArrayList<>();
    private final Object issuing = new Object();
    private final RecentCollectives collectives = new RecentCollectives();

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
            Communicator communicator,
            FailureContext context,
            Duration timeout,
            DesyncDetector detector,
            DeviceRuntime runtime,
            Device device,
            boolean highPriority) {
        super(communicator, context, timeout, detector);
        this.runtime = runtime;
        this.device = device;
        this.events = new EventPool(runtime);
        DeviceRuntimes.enter(runtime, device);
        this.stream = runtime.createStream(highPriority);
        this.staging = new Staging(new DeviceScratch());
        this.synchronousCalls = new SynchronousCalls(device, running);
    }

    @Override
    public Operation newOperation() {
        return borrow();
    }

    @Override
    public Work submit(Operation operation) {
        synchronized (issuing) {
            boolean captured = orderAfterCaller(operation);
            begin(operation);
            try {
                enqueue(operation);
                return finishIssuing(operation, captured);
            } catch (Throwable e) {
                JcclException cause = failed(e, operation);
                abandon(operation);
                throw cause;
            }
        }
    }

    @Override
    public List<Work> submitBatch(List<Operation> operations) {
        List<Work> issued = new ArrayList<>(operations.size());
        synchronized (issuing) {
            requireUsable(operations);
            boolean captured = orderAfterCaller(operations.get(0));
            for (Operation operation : operations) {
                begin(operation);
            }
            int finished = 0;
            try {
                communicator.batchStart();
                try {
                    for (Operation operation : operations) {
                        operation.call(communicator, stream);
                    }
                } finally {
                    communicator.batchEnd();
                }
                for (; finished < operations.size(); finished++) {
                    issued.add(finishIssuing(operations.get(finished), captured));
                }
            } catch (Throwable e) {
                JcclException cause = failed(e, operations.get(0));
                operations.subList(finished, operations.size()).forEach(this::abandon);
                throw cause;
            }
        }
        return issued;
    }

    /** Checks, makes the device current, and returns the caller's current stream. */
    private Stream enter(Operation operation) {
        requireUsable(operation);
        try {
            DeviceRuntimes.enter(runtime, device);
            return Stream.current(device);
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
            boolean captured = runtime.isCapturing(caller);
            long event = events.take();
            runtime.recordEvent(event, caller);
            runtime.waitEvent(stream, event);
            putBack(event, captured);
            return captured;
        } catch (JcclException e) {
            operation.releaseMemory();
            throw e.at(contextOf(operation));
        }
    }

    /**
     * An event of a capture belongs to it for good: it can not be asked, so it is not used again.
     */
    private void putBack(long event, boolean captured) {
        if (captured) {
            capturedEvents.add(event);
        } else {
            events.giveBack(event);
        }
    }

    private void begin(Operation operation) {
        if (operation.kind.isCollective()) {
            collectives.add(operation);
        }
        running.begin(operation);
    }

    private void enqueue(Operation operation) {
        if (staging.needs(operation)) {
            staging.before(operation);
            operation.call(communicator, stream);
            staging.after(operation);
        } else {
            operation.call(communicator, stream);
        }
    }

    /** Gives up an operation that the device may have begun, and its memory once that is over. */
    private void abandon(Operation operation) {
        try {
            long end = events.take();
            runtime.recordEvent(end, stream);
            if (runtime.isCapturing(stream)) {
                capturedEvents.add(end);
                running.end(operation);
                return;
            }
            synchronized (draining) {
                draining.add(new Draining(operation, end));
            }
        } catch (JcclException e) {
            // The device is beyond use, so nothing reads the memory any more.
            CleanUp.failed(context.toString(), e);
            running.end(operation);
        }
    }

    private DeviceWork finishIssuing(Operation operation, boolean captured) {
        if (!captured && events.isEmpty()) {
            // Works that nobody asks about give their events back here, not at the next tick. A
            // thread that captures must not ask.
            completeOldest();
        }
        long end = events.take();
        runtime.recordEvent(end, stream);
        DeviceWork work = new DeviceWork(this, operation, end, captured);
        if (captured) {
            // The graph runs it later, as often as the user likes, on memory the user keeps.
            capturedEvents.add(end);
            work.complete(null);
            running.end(operation);
            running.giveBack(operation);
        } else {
            synchronized (works) {
                works.add(work);
            }
        }
        return work;
    }

    @Override
    public int run(Operation operation) {
        int source = operation.kind == OperationKind.RECV ? operation.peer : -1;
        if (staging.needs(operation)) {
            // Scratch memory is ordered by the communication stream alone.
            submit(operation).await();
            return source;
        }
        boolean barrier = operation.kind == OperationKind.BARRIER;
        Stream caller;
        synchronized (issuing) {
            caller = enter(operation);
            if (operation.kind.isCollective()) {
                collectives.add(operation);
            }
            running.note(operation);
            try {
                operation.call(communicator, caller.handle());
            } catch (Throwable e) {
                throw failed(e, operation);
            } finally {
                // From here on the memory is the caller's duty, as with a kernel of its own.
                operation.releaseMemory();
            }
            synchronousCalls.add(operation, caller);
        }
        if (barrier) {
            awaitBarrier(caller);
        }
        return source;
    }

    private void awaitBarrier(Stream caller) {
        try {
            runtime.synchronizeStream(caller.handle());
        } catch (JcclException e) {
            // Of a device that can not let go of what was aborted: the first cause says more.
            fail(e.at(context));
        }
        if (failure.isSet()) {
            throw failure.get();
        }
    }

    /** Makes the calling thread's current stream wait for a work. */
    void orderCurrentStreamAfter(DeviceWork work) {
        DeviceRuntimes.enter(runtime, device);
        long current = Stream.current(device).handle();
        // The work's monitor keeps its event from going back to the pool meanwhile.
        synchronized (work) {
            if (!work.isDone() || work.isCaptured() && runtime.isCapturing(current)) {
                runtime.waitEvent(current, work.endEvent());
            }
        }
    }

    /** Completes a work whose end event has passed, or whose group has failed; never blocks. */
    boolean completeIfReady(DeviceWork work) {
        if (work.isDone()) {
            return true;
        }
        boolean passed;
        try {
            passed = runtime.queryEvent(work.endEvent());
        } catch (JcclException e) {
            fail(e.at(context));
            passed = false;
        }
        if (!passed && !failure.isSet()) {
            return false;
        }
        Operation operation = work.complete(failure.get());
        if (operation != null) {
            if (passed) {
                letGo(operation, work.endEvent());
            } else {
                synchronized (draining) {
                    draining.add(new Draining(operation, work.endEvent()));
                }
            }
        }
        return true;
    }

    private void letGo(Operation operation, long endEvent) {
        running.end(operation);
        running.giveBack(operation);
        events.giveBack(endEvent);
    }

    /**
     * Waits until a work is complete; false when the time is over. Spins first, since most are
     * short.
     */
    boolean pollUntil(DeviceWork work, long deadline) {
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

    @Override
    void onFailure() {}

    @Override
    void prepareWatching() {
        // The thread serves groups on several devices, so this is said again at each tick.
        runtime.preparePollingThread(device.index());
    }

    @Override
    List<String> issuedBefore(long sequence) {
        return collectives.before(sequence);
    }

    @Override
    void completeUnawaited() {
        completeOldest();
        drain();
        synchronousCalls.follow();
    }

    /** Completes works from the oldest on, up to one that still runs. */
    private void completeOldest() {
        DeviceWork oldest = oldestAfter(null);
        while (oldest != null && completeIfReady(oldest)) {
            oldest = oldestAfter(oldest);
        }
    }

    private DeviceWork oldestAfter(DeviceWork completed) {
        synchronized (works) {
            if (completed != null && works.peek() == completed) {
                works.poll();
            }
            return works.peek();
        }
    }

    private void drain() {
        List<Draining> passed = new ArrayList<>();
        synchronized (draining) {
            draining.removeIf(
                    entry -> {
                        boolean ended;
                        try {
                            ended = runtime.queryEvent(entry.endEvent());
                        } catch (JcclException e) {
                            // The device is beyond use, so nothing reads the memory any more.
                            CleanUp.failed(context.toString(), e);
                            ended = true;
                        }
                        return ended && passed.add(entry);
                    });
        }
        passed.forEach(entry -> letGo(entry.operation(), entry.endEvent()));
    }

    @Override
    public void close(Duration patience) {
        synchronized (issuing) {
            if (closed) {
                return;
            }
            closed = true;
        }
        DeviceRuntimes.enter(runtime, device);
        if (!awaitIdle(patience)) {
            fail(
                    new GroupAbortedException(
                            context, "the group was closed while messages were outstanding"));
            awaitIdle(ABORT_PATIENCE);
        }
        detector.publish();
        if (running.isEmpty()) {
            // Otherwise the device still runs them: losing handles beats freeing them there.
            release(staging::close);
            release(synchronousCalls::close);
            release(this::freeCommunicator);
            capturedEvents.forEach(event -> release(() -> runtime.destroyEvent(event)));
            release(events::destroyAll);
            release(() -> runtime.destroyStream(stream));
        }
    }

    /** A device or stream that failed refuses some of this, which must not keep the rest. */
    private void release(Runnable end) {
        CleanUp.run(context.toString(), end);
    }

    /** Scratch memory of the device, used in the order of the communication stream. */
    private final class DeviceScratch implements Staging.Memory {

        @Override
        public long allocate(long bytes) {
            return runtime.allocate(bytes);
        }

        @Override
        public void free(long address) {
            // Nothing runs any more once it is closed, and a stream that failed can not be awaited.
            if (!closed) {
                runtime.synchronizeStream(stream);
            }
            runtime.free(address);
        }

        @Override
        public void copy(long from, long to, long bytes) {
            runtime.copy(to, from, bytes, DeviceRuntime.Copy.DEVICE_TO_DEVICE, stream);
        }
    }
}
