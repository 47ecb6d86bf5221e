package org.jccl.internal.operation;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jccl.FailureContext;
import org.jccl.JcclException;
import org.jccl.spi.Communicator;

/**
 * The operations that an engine has in flight, the numbers of messages, and a pool of objects.
 * There is one plain lock: the monitor of this object guards everything here, and engines begin
 * operations and close under it. Its holder calls neither the library nor a device nor the store.
 */
public final class RunningOperations {

    private static final long DIAGNOSE_AFTER_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

    /**
     * The oldest collectives block the others. A program that runs far ahead of its device may have
     * thousands, and each comparison costs several requests to the store.
     */
    private static final int COMPARED_COLLECTIVES = 16;

    private static final long NOT_SEEN = 0;

    private final List<Operation> running = new ArrayList<>();
    private final ArrayDeque<Operation> pool = new ArrayDeque<>();
    private final MessageCounters messages = new MessageCounters();

    /** Threads that are inside the library with a call that is not an operation. */
    private int threadsInside;

    /**
     * Threads that await a signal: notifying when there is none would cost a call into the virtual
     * machine.
     */
    private int waiting;

    /** The observers of starts and ends. */
    private Observers observers = Observers.none();

    /** Sets the observers of all later operations. */
    public void observe(Observers others) {
        observers = others;
    }

    public Observers observers() {
        return observers;
    }

    /** Returns an empty operation, reused if possible. */
    public Operation borrow() {
        Operation operation;
        synchronized (this) {
            operation = pool.poll();
        }
        if (operation == null) {
            return new Operation();
        }
        operation.clear();
        return operation;
    }

    public synchronized void giveBack(Operation operation) {
        pool.push(operation);
    }

    /** Adds an operation before it is passed to the library, and numbers it if it is a message. */
    public synchronized void begin(Operation operation) {
        begin(operation, System.nanoTime());
    }

    /** Same as {@link #begin(Operation)}, for a caller that holds the monitor. */
    public void begin(Operation operation, long startNanos) {
        note(operation);
        add(operation, startNanos);
    }

    /**
     * Same as {@link #begin(Operation)}, for an operation that its caller waits for. Its clock
     * starts when the watchdog first sees it, which is precise enough for a deadline: reading the
     * time would be a quarter of the cost of a call.
     */
    public void beginSynchronous(Operation operation) {
        begin(operation, NOT_SEEN);
    }

    private void note(Operation operation) {
        if (!operation.kind.isCollective() && operation.peer != Communicator.ANY_SOURCE) {
            operation.sequence = messages.next(operation.kind, operation.peer, operation.tag);
        }
        if (observers.isOn()) {
            observers.started(operation);
        }
    }

    /**
     * Removes an operation of {@link #beginSynchronous} that was enqueued on the stream of the
     * caller, or failed to be. Its end is not seen unless it is passed to {@link #watch}.
     */
    public synchronized void leaveLibrary(Operation operation) {
        remove(operation);
    }

    /** Begins a wait of a thread of the program. Returns 0 if no observer sees waits. */
    public long beginWait(Operation operation) {
        if (!observers.seeWaits()) {
            return 0;
        }
        long now = System.nanoTime();
        observers.waiting(operation, now);
        return now;
    }

    /**
     * Ends the wait that {@link #beginWait} began on the same thread. Not called if that returned
     * 0.
     */
    public void endWait(Operation operation, long beganNanos) {
        observers.waited(operation.kind.isCollective(), operation.sequence, beganNanos);
    }

    /** Counts an operation as running until {@link #end}. */
    public synchronized void watch(Operation operation) {
        add(operation, System.nanoTime());
    }

    private void add(Operation operation, long startNanos) {
        operation.startNanos = startNanos;
        operation.runningIndex = running.size();
        running.add(operation);
    }

    /**
     * Reports the end of an operation to its observers, once. A failure can be reported while the
     * library still uses the operation.
     *
     * @param cause why it failed, or null
     */
    public void reportEnd(Operation operation, JcclException cause) {
        if (operation.observed != null) {
            OperationRecord observed = takeObserved(operation);
            ended(observed, cause);
        }
    }

    /** Takes the record of an operation, to report its end later. */
    public OperationRecord takeObserved(Operation operation) {
        OperationRecord observed = operation.observed;
        operation.observed = null;
        return observed;
    }

    /** Reports the end of an operation. */
    public void ended(OperationRecord observed, JcclException cause) {
        observed.end(cause);
        observers.ended(observed);
    }

    /**
     * Removes an operation that the library no longer uses, and releases its memory.
     *
     * @param cause why it failed, or null
     */
    public void end(Operation operation, JcclException cause) {
        letGo(operation, cause);
        synchronized (this) {
            remove(operation);
        }
    }

    /** Same as {@link #end}, and returns the object to the pool. */
    public void endAndGiveBack(Operation operation, JcclException cause) {
        letGo(operation, cause);
        synchronized (this) {
            remove(operation);
            pool.push(operation);
        }
    }

    /** Same as {@link #endAndGiveBack(Operation, JcclException)}, for several operations. */
    public void endAndGiveBack(Operation[] operations, int count, JcclException cause) {
        for (int i = 0; i < count; i++) {
            letGo(operations[i], cause);
        }
        synchronized (this) {
            for (int i = 0; i < count; i++) {
                remove(operations[i]);
                pool.push(operations[i]);
            }
        }
    }

    private void remove(Operation operation) {
        Operation last = running.remove(running.size() - 1);
        if (last != operation) {
            running.set(operation.runningIndex, last);
            last.runningIndex = operation.runningIndex;
        }
        signal();
    }

    private void letGo(Operation operation, JcclException cause) {
        reportEnd(operation, cause);
        operation.releaseMemory();
    }

    /**
     * Counts the calling thread as being inside the library until {@link #leave}. The caller holds
     * the monitor, and has seen under it that the group is not closed.
     */
    public void enter() {
        threadsInside++;
    }

    public synchronized void leave() {
        threadsInside--;
        signal();
    }

    /**
     * Returns the number of operations and threads inside the library. Nothing is freed before it
     * is 0.
     */
    public synchronized int count() {
        return running.size() + threadsInside;
    }

    public boolean isEmpty() {
        return count() == 0;
    }

    /**
     * Returns an operation that writes to a range of host memory, or that reads it if the range is
     * to be written; null if there is none. An operation that is complete is none: its waiter may
     * have continued before it left the list. The caller has the monitor.
     */
    public Operation collision(long start, long end, boolean writes, int rank, int size) {
        for (Operation operation : running) {
            if (!operation.isDone() && operation.collides(start, end, writes, rank, size)) {
                return operation;
            }
        }
        return null;
    }

    public synchronized boolean hasWhatMustEnd() {
        return running.stream().anyMatch(Operation::mustEnd);
    }

    /** Blocks until an operation ends or the time has passed. */
    public synchronized void awaitEnd(long millis) throws InterruptedException {
        if (!isEmpty()) {
            awaitSignal(millis);
        }
    }

    /**
     * Blocks until an operation ends, another signal is sent, or the time, unless 0, has passed.
     */
    public synchronized void awaitSignal(long millis) throws InterruptedException {
        waiting++;
        try {
            wait(millis);
        } finally {
            waiting--;
        }
    }

    /** Wakes all threads that await a signal. The caller holds the monitor. */
    public void signal() {
        if (waiting > 0) {
            notifyAll();
        }
    }

    public synchronized List<Operation> list() {
        return List.copyOf(running);
    }

    /**
     * Operations that take a long time.
     *
     * @param stuck those that may be stuck, for comparing ranks
     * @param expired the oldest operation over its deadline, or null
     * @param timeoutNanos how long that was allowed to take
     */
    public record Overdue(List<StuckOperation> stuck, FailureContext expired, long timeoutNanos) {}

    /**
     * Returns the operations that take a long time.
     *
     * @param ofGroup the timeout of the group
     * @param closing whether an operation may take no longer than that, whatever its own timeout
     */
    public synchronized Overdue overdue(
            long now, long ofGroup, boolean closing, FailureContext group) {
        List<Operation> stuck = new ArrayList<>();
        Operation expired = null;
        long expiredTimeout = 0;
        for (Operation operation : running) {
            if (operation.startNanos == NOT_SEEN) {
                operation.startNanos = now;
            }
            if (operation.observed != null) {
                observers.lookForStall(operation.observed, now - operation.observed.startNanos());
            }
            long age = now - operation.startNanos;
            long own = operation.timeoutNanos(ofGroup);
            long timeout = closing ? Math.min(own, ofGroup) : own;
            // Earlier when the deadline is near: by then ranks must have written where they are.
            long stuckNanos = Math.min(DIAGNOSE_AFTER_NANOS, timeout / 2);
            if (age > timeout) {
                if (expired == null || operation.startNanos - expired.startNanos < 0) {
                    expired = operation;
                    expiredTimeout = timeout;
                }
            } else if (age > stuckNanos) {
                stuck.add(operation);
            }
        }
        // Described under the lock: a synchronous call's object is reused once it has ended.
        return new Overdue(
                Stream.concat(
                                stuck.stream().filter(each -> !each.kind.isCollective()),
                                stuck.stream()
                                        .filter(each -> each.kind.isCollective())
                                        .sorted(Comparator.comparingLong(each -> each.sequence))
                                        .limit(COMPARED_COLLECTIVES))
                        .map(each -> StuckOperation.of(each, each.context(group)))
                        .toList(),
                expired == null ? null : expired.context(group),
                expiredTimeout);
    }
}
