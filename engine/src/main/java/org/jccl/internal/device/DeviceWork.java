package org.jccl.internal.device;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.jccl.Event;
import org.jccl.FailureContext;
import org.jccl.JcclException;
import org.jccl.WaitTimeoutException;
import org.jccl.Work;
import org.jccl.internal.engine.FutureThread;
import org.jccl.internal.engine.Timeouts;
import org.jccl.internal.operation.Operation;
import org.jccl.spi.DeviceRuntime;
import org.jccl.spi.Durations;
import org.jccl.spi.OperationKind;

/**
 * An operation on a communication stream: complete when its end event is. Small, because each call
 * creates one; what it needs while it runs is in the pooled {@link Operation}.
 */
public final class DeviceWork implements Work {

    private final StreamEngine engine;
    private final long sequence;

    /** Its position on the communication stream; none if it was captured. */
    private long position = -1;

    private final int peer;

    /** Null once the work is complete. */
    private Operation operation;

    private final boolean captured;
    private final boolean barrier;

    /** Whether its end event tells the time. */
    private boolean timed;

    /** 0 until it is recorded. Reused once the work is complete and no thread uses it. */
    private volatile long endEvent;

    /**
     * Threads that enqueue a wait for the end event, which blocks where their stream is full, and
     * events of the program.
     */
    private int endEventUsers;

    /**
     * Whether other libraries may have ordered streams after it, which this API does not see: a
     * stream of theirs waits for it, or the program has its event.
     */
    private boolean ordersUnseen;

    /** Whether the last of these users gives the end event back. */
    private boolean endEventLeft;

    private volatile boolean done;

    /** Whether the device is known to have passed its end event; a work may fail before. */
    private boolean passed;

    private JcclException failure;
    private CompletableFuture<Void> future;

    DeviceWork(StreamEngine engine, Operation operation, boolean captured) {
        this.engine = engine;
        this.operation = operation;
        this.captured = captured;
        this.barrier = operation.kind == OperationKind.BARRIER;
        this.sequence = operation.sequence;
        this.peer = operation.kind == OperationKind.RECV ? operation.peer : -1;
    }

    @Override
    public void await() {
        if (barrier && !captured) {
            synchronize();
            return;
        }
        engine.orderCurrentStreamAfter(this);
        throwFailure();
    }

    @Override
    public void await(Duration timeout) {
        if (!engine.pollUntil(this, Timeouts.deadline(timeout))) {
            throw new WaitTimeoutException(
                    engine.context,
                    "not complete after "
                            + Durations.text(timeout)
                            + "; it continues, wait for it"
                            + " again");
        }
        await();
    }

    @Override
    public void synchronize() {
        // No deadline of its own: the watchdog ends it by failing the group.
        engine.pollUntil(this, Long.MAX_VALUE);
        throwFailure();
    }

    @Override
    public boolean isCompleted() {
        return engine.isComplete(this);
    }

    @Override
    public Optional<JcclException> exception() {
        if (!done || failure == null) {
            return Optional.empty();
        }
        engine.reportFailure();
        return Optional.of(failure);
    }

    @Override
    public synchronized CompletableFuture<Void> toFuture() {
        if (future == null) {
            future = new CompletableFuture<>();
            if (done) {
                completeFuture();
            } else {
                engine.futures().begin();
            }
        }
        return future.copy();
    }

    @Override
    public Optional<Event> event() {
        if (captured) {
            return Optional.empty(); // its end is an event of the graph
        }
        engine.isComplete(this); // of a group that has failed it is, with the failure
        throwFailure();
        synchronized (this) {
            if (!done) {
                operation.awaited = true;
                endEventUsers++;
                ordersUnseen = true;
                return Optional.of(engine.eventOf(this));
            }
        }
        return Optional.of(engine.completeEvent());
    }

    /** Ends a use of the end event, and gives it back if the work is complete. */
    void leaveEndEvent() {
        if (isLastUser()) {
            engine.giveBackEnd(this);
        }
    }

    @Override
    public int sourceRank() {
        return done ? peer : -1;
    }

    @Override
    public long sequence() {
        return sequence;
    }

    boolean isDone() {
        return done;
    }

    /** Whether a graph was captured, which runs it later. */
    boolean isCaptured() {
        return captured;
    }

    /** Says that an event that tells the time is recorded before it. */
    void timed() {
        timed = true;
    }

    boolean isTimed() {
        return timed;
    }

    /** Sets its position in the order in which works end. */
    void position(long inOrder) {
        position = inOrder;
    }

    long position() {
        return position;
    }

    /** The library has it, and its end event is recorded. */
    void issued(long recordedEvent) {
        endEvent = recordedEvent;
    }

    boolean isIssued() {
        return endEvent != 0 || done;
    }

    long endEvent() {
        return endEvent;
    }

    /** Whether the end event is known to have passed: that of a failed work is not queried. */
    synchronized boolean hasPassed(DeviceRuntime runtime) {
        return done ? passed : endEvent != 0 && runtime.queryEvent(endEvent);
    }

    /**
     * Returns the use of a range of memory, as {@link Operation#collides}, or null.
     *
     * @param current the stream on which the memory is to be used, which does not wait for this
     *     work as far as this API sees
     */
    synchronized FailureContext collision(
            NativeStream current, long start, long end, boolean writes, int size) {
        if (operation == null || ordersUnseen || current.isForeign() && operation.awaited) {
            return null;
        }
        return operation.collides(start, end, writes, engine.context.rank(), size)
                ? operation.context(engine.context)
                : null;
    }

    /** Makes a stream wait for the end event, unless that has passed. */
    void orderAfter(DeviceRuntime runtime, NativeStream caller) {
        long stream = caller.handle();
        synchronized (this) {
            if (operation != null) {
                operation.awaited = true;
                ordersUnseen |= caller.isForeign();
            }
            if (done && !(captured && runtime.isCapturing(stream))) {
                return;
            }
            endEventUsers++;
        }
        try {
            // Without the monitor: the watchdog queries under it, and would never end what is
            // stuck.
            runtime.waitEvent(stream, endEvent);
        } finally {
            leaveEndEvent();
        }
    }

    private synchronized boolean isLastUser() {
        endEventUsers--;
        return endEventLeft && endEventUsers == 0;
    }

    /** Whether the end event, which has passed, can be reused; else its last user gives it back. */
    synchronized boolean leavesEndEvent() {
        endEventLeft = endEventUsers > 0;
        return !endEventLeft;
    }

    private void throwFailure() {
        if (done && failure != null) {
            engine.reportFailure();
            throw failure.forCaller();
        }
    }

    /**
     * Ends it.
     *
     * @param cause why it failed, or null
     * @param hasPassed whether the device has passed its end event
     * @return its operation, or null if it had ended before
     */
    Operation complete(JcclException cause, boolean hasPassed) {
        Operation ended;
        boolean notify;
        synchronized (this) {
            if (done) {
                return null;
            }
            ended = operation;
            operation = null;
            failure = cause;
            passed = hasPassed;
            done = true;
            notify = future != null;
        }
        if (notify) {
            engine.futures().end();
            FutureThread.complete(this::completeFuture);
        }
        return ended;
    }

    private void completeFuture() {
        if (failure == null) {
            future.complete(null);
        } else {
            future.completeExceptionally(failure);
        }
    }
}
