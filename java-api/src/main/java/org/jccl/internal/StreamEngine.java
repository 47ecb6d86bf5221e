package org.jccl.internal;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.jccl.Device;
import org.jccl.FailureContext;
import org.jccl.GroupAbortedException;
import org.jccl.JcclException;
import org.jccl.Stream;
import org.jccl.Work;
import org.jccl.spi.Communicator;
import org.jccl.spi.DeviceRuntime;

/**
 * The engine of libraries that enqueue on device streams.
 *
 * <p>An asynchronous operation waits on the communication stream for an event on the caller's
 * stream, runs there, and is followed by its end event. A synchronous one goes straight to the
 * caller's stream. The watchdog lets memory and events go when an end event has passed.
 */
public final class StreamEngine extends Engine {

    private static final int SPINS = 200;
    private static final long PARK_NANOS = 20_000;

    /** A failed work's memory, which the device may still use. */
    private record Draining(Operation operation, long endEvent) {}

    private final DeviceRuntime runtime;
    private final Device device;
    private final EventPool events;
    private final long stream;
    private final Staging staging;
    private final List<DeviceWork> works = new ArrayList<>();
    private final List<Draining> draining = new ArrayList<>();
    private final List<Long> capturedEvents = new ArrayList<>();
    private final Object issuing = new Object();
    private long collectives;

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
    }

    @Override
    public Operation newOperation() {
        return borrow();
    }

    @Override
    public Work submit(Operation operation) {
        synchronized (issuing) {
            long caller = enter(operation);
            boolean captured = runtime.isCapturing(caller);
            orderAfter(caller, captured);
            begin(operation);
            try {
                enqueue(operation);
            } catch (Throwable e) {
                throw abandoned(e, operation);
            }
            return finishIssuing(operation, captured);
        }
    }

    @Override
    public List<Work> submitBatch(List<Operation> operations) {
        List<Work> issued = new ArrayList<>(operations.size());
        synchronized (issuing) {
            for (Operation operation : operations) {
                requireUsable(operation);
            }
            long caller = enter(operations.get(0));
            boolean captured = runtime.isCapturing(caller);
            orderAfter(caller, captured);
            for (Operation operation : operations) {
                begin(operation);
            }
            try {
                communicator.batchStart();
                try {
                    for (Operation operation : operations) {
                        operation.call(communicator, stream);
                    }
                } finally {
                    communicator.batchEnd();
                }
            } catch (Throwable e) {
                JcclException cause = failed(e, operations.get(0));
                operations.forEach(running::end);
                throw cause;
            }
            for (Operation operation : operations) {
                issued.add(finishIssuing(operation, captured));
            }
        }
        return issued;
    }

    /** Checks, makes the device current, and returns the caller's current stream. */
    private long enter(Operation operation) {
        requireUsable(operation);
        try {
            DeviceRuntimes.enter(runtime, device);
            return Stream.current(device).handle();
        } catch (JcclException e) {
            operation.releaseMemory();
            throw e;
        }
    }

    /** Makes the communication stream wait for what the caller has enqueued. */
    private void orderAfter(long caller, boolean captured) {
        long event = events.take();
        runtime.recordEvent(event, caller);
        runtime.waitEvent(stream, event);
        putBack(event, captured);
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
            operation.sequence = collectives++;
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

    private JcclException abandoned(Throwable thrown, Operation operation) {
        JcclException cause = failed(thrown, operation);
        running.end(operation);
        running.giveBack(operation);
        return cause;
    }

    private DeviceWork finishIssuing(Operation operation, boolean captured) {
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
        long caller;
        synchronized (issuing) {
            caller = enter(operation);
            if (operation.kind.isCollective()) {
                collectives++;
            }
            try {
                operation.call(communicator, caller);
            } catch (Throwable e) {
                throw failed(e, operation);
            } finally {
                operation.releaseMemory();
                running.giveBack(operation);
            }
        }
        if (barrier) {
            runtime.synchronizeStream(caller);
        }
        return source;
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
            synchronized (works) {
                works.remove(work);
                if (!passed) {
                    draining.add(new Draining(operation, work.endEvent()));
                }
            }
            if (passed) {
                letGo(operation, work.endEvent());
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
    void completeUnawaited() {
        List<DeviceWork> open;
        synchronized (works) {
            if (works.isEmpty() && draining.isEmpty()) {
                return;
            }
            open = List.copyOf(works);
        }
        open.forEach(this::completeIfReady);
        drain();
    }

    private void drain() {
        List<Draining> passed = new ArrayList<>();
        synchronized (works) {
            draining.removeIf(
                    entry -> {
                        boolean ended;
                        try {
                            ended = runtime.queryEvent(entry.endEvent());
                        } catch (JcclException e) {
                            // The device is beyond use, so nothing reads the memory any more.
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
        awaitIdle(timeout);
        if (!running.isEmpty()) {
            fail(new GroupAbortedException(context, "the group was closed while works were stuck"));
            awaitIdle(patience);
        }
        detector.publish();
        if (running.isEmpty()) {
            // Otherwise the device still runs them: losing handles beats freeing them there.
            staging.close();
            freeCommunicator();
            capturedEvents.forEach(runtime::destroyEvent);
            events.destroyAll();
            runtime.destroyStream(stream);
        }
    }

    private void awaitIdle(Duration patience) {
        long deadline = System.nanoTime() + patience.toNanos();
        completeUnawaited();
        while (!running.isEmpty() && System.nanoTime() - deadline < 0) {
            LockSupport.parkNanos(PARK_NANOS);
            completeUnawaited();
        }
    }

    /** Scratch memory of the device, used in the order of the communication stream. */
    private final class DeviceScratch implements Staging.Memory {

        @Override
        public long allocate(long bytes) {
            return runtime.allocate(bytes);
        }

        @Override
        public void free(long address) {
            runtime.synchronizeStream(stream);
            runtime.free(address);
        }

        @Override
        public void copy(long from, long to, long bytes) {
            runtime.copy(to, from, bytes, DeviceRuntime.Copy.DEVICE_TO_DEVICE, stream);
        }
    }
}
