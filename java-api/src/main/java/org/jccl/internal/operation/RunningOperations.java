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
 * The operations that an engine has in flight, numbers for messages, and a pool of objects. One
 * plain lock: everything here is guarded by the object's own monitor, which is also what engines
 * begin and close under. Whoever has it calls neither the library nor a device nor the store.
 */
public final class RunningOperations {

    private static final long DIAGNOSE_AFTER_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

    /**
     * The oldest collectives hold up the others, which may be thousands in a program that runs far
     * ahead of its device: they are not worth several questions to the store each.
     */
    private static final int COMPARED_COLLECTIVES = 16;

    private static final long NOT_SEEN = 0;

    private final List<Operation> running = new ArrayList<>();
    private final ArrayDeque<Operation> pool = new ArrayDeque<>();
    private final MessageCounters messages = new MessageCounters();

    /** Threads that are inside the library with a call that is no operation. */
    private int threadsInside;

    /** Threads that await a signal: waking nobody costs a call into the virtual machine. */
    private int waiting;

    /** Who sees operations start and end. */
    private Observers observers = Observers.none();

    /** Has others see all operations from now on. */
    public void observe(Observers others) {
        observers = others;
    }

    public Observers observers() {
        return observers;
    }

    /** An empty operation, reused where possible. */
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

    /**
     * Notes an operation before the library is called with it, and numbers it if it is a message.
     */
    public synchronized void begin(Operation operation) {
        begin(operation, System.nanoTime());
    }

    /** The same for a caller that has the monitor. */
    public void begin(Operation operation, long startNanos) {
        note(operation);
        add(operation, startNanos);
    }

    /**
     * The same for one that its caller waits for. Its clock starts when the watchdog sees it first,
     * which is soon enough for a deadline: reading the time would be a quarter of what a call
     * costs.
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
     * Forgets one of {@link #beginSynchronous} that went straight to the caller's stream, or failed
     * to: its end is not seen unless it is the one to {@link #watch}.
     */
    public synchronized void leaveLibrary(Operation operation) {
        remove(operation);
    }

    /** Begins the wait of a thread of the program; 0 where nobody sees waits. */
    public long beginWait(Operation operation) {
        if (!observers.seeWaits()) {
            return 0;
        }
        long now = System.nanoTime();
        observers.waiting(operation, now);
        return now;
    }

    /** Notes what {@link #beginWait} has begun on the same thread; never after its 0. */
    public void endWait(Operation operation, long beganNanos) {
        observers.waited(operation.kind.isCollective(), operation.sequence, beganNanos);
    }

    /** Counts an operation as running from now on, until {@link #end}. */
    public synchronized void watch(Operation operation) {
        add(operation, System.nanoTime());
    }

    private void add(Operation operation, long startNanos) {
        operation.startNanos = startNanos;
        operation.runningIndex = running.size();
        running.add(operation);
    }

    /**
     * Tells who observes an operation that it is over; once, so that what fails can be told before
     * the library is done with it.
     *
     * @param cause why it failed, or null
     */
    public void reportEnd(Operation operation, JcclException cause) {
        if (operation.observed != null) {
            OperationRecord observed = takeObserved(operation);
            ended(observed, cause);
        }
    }

    /** Takes over from an operation what observers see, to tell them its end later. */
    public OperationRecord takeObserved(Operation operation) {
        OperationRecord observed = operation.observed;
        operation.observed = null;
        return observed;
    }

    /** Tells its end. */
    public void ended(OperationRecord observed, JcclException cause) {
        observed.end(cause);
        observers.ended(observed);
    }

    /**
     * Forgets an operation that the library is done with, and lets its memory go.
     *
     * @param cause why it failed, or null
     */
    public void end(Operation operation, JcclException cause) {
        letGo(operation, cause);
        synchronized (this) {
            remove(operation);
        }
    }

    /** The same, and the object is taken back for later use. */
    public void endAndGiveBack(Operation operation, JcclException cause) {
        letGo(operation, cause);
        synchronized (this) {
            remove(operation);
            pool.push(operation);
        }
    }

    /** The same for several. */
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
     * Counts the calling thread as being inside the library, until {@link #leave}. The caller has
     * the monitor, under which it has seen that the group is not closed.
     */
    public void enter() {
        threadsInside++;
    }

    public synchronized void leave() {
        threadsInside--;
        signal();
    }

    /** Operations and threads inside the library. Nothing of it is freed before this is 0. */
    public synchronized int count() {
        return running.size() + threadsInside;
    }

    public boolean isEmpty() {
        return count() == 0;
    }

    public synchronized boolean hasWhatMustEnd() {
        return running.stream().anyMatch(Operation::mustEnd);
    }

    /** Blocks until an operation ends or the time is over. */
    public synchronized void awaitEnd(long millis) throws InterruptedException {
        if (!isEmpty()) {
            awaitSignal(millis);
        }
    }

    /**
     * Blocks until an operation ends, something else is signalled, or the time, unless 0, is over.
     */
    public synchronized void awaitSignal(long millis) throws InterruptedException {
        waiting++;
        try {
            wait(millis);
        } finally {
            waiting--;
        }
    }

    /** Wakes whoever awaits a signal. The caller has the monitor. */
    public void signal() {
        if (waiting > 0) {
            notifyAll();
        }
    }

    public synchronized List<Operation> list() {
        return List.copyOf(running);
    }

    /** Collectives that a barrier must see completed; the library may complete it before them. */
    public synchronized List<Operation> startedBefore(Operation barrier) {
        return running.stream()
                .filter(each -> each.kind.isCollective() && each.sequence < barrier.sequence)
                .toList();
    }

    /**
     * Operations that take long.
     *
     * @param stuck those that may be stuck, for comparing ranks
     * @param expired the oldest that is over its deadline, or null
     */
    public record Overdue(List<StuckOperation> stuck, FailureContext expired) {}

    public synchronized Overdue overdue(long now, long timeoutNanos, FailureContext group) {
        List<Operation> stuck = new ArrayList<>();
        Operation expired = null;
        // Earlier when the deadline is near: by then ranks must have written where they are.
        long stuckNanos = Math.min(DIAGNOSE_AFTER_NANOS, timeoutNanos / 2);
        for (Operation operation : running) {
            if (operation.startNanos == NOT_SEEN) {
                operation.startNanos = now;
            }
            if (operation.observed != null) {
                observers.lookForStall(operation.observed, now - operation.observed.startNanos());
            }
            long age = now - operation.startNanos;
            if (age > timeoutNanos) {
                if (expired == null || operation.startNanos - expired.startNanos < 0) {
                    expired = operation;
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
                expired == null ? null : expired.context(group));
    }
}
