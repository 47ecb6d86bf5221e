package org.jccl.internal;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jccl.FailureContext;
import org.jccl.JcclException;
import org.jccl.spi.Communicator;

/** The operations an engine has in the library's hands, and a pool of objects for new ones. */
final class RunningOperations {

    private static final long DIAGNOSE_AFTER_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

    private static final long NOT_SEEN = 0;

    private final List<Operation> running = new ArrayList<>();
    private final ArrayDeque<Operation> pool = new ArrayDeque<>();

    /** The first caller, or the first after it ended: it needs no lock. */
    private volatile Thread favourite;

    /** One more of the pool, which only the favourite touches. */
    private Operation spare;

    private final MessageCounters messages = new MessageCounters();

    /** Threads that await a signal: waking nobody costs a call into the virtual machine. */
    private int waiting;

    /** Null unless recording was asked for. */
    private FlightRecorder recorder;

    /** Records all operations from now on. */
    void recordTo(FlightRecorder flightRecorder) {
        recorder = flightRecorder;
    }

    /** Writes what was recorded, if anything was. */
    void writeRecord(JcclException failure) {
        if (recorder != null) {
            recorder.write(failure);
        }
    }

    /** An empty operation, reused where possible. */
    Operation borrow() {
        Operation operation = null;
        if (Thread.currentThread() == favourite) {
            operation = spare;
            spare = null;
        }
        if (operation == null) {
            operation = borrowFromPool();
        }
        operation.clear();
        return operation;
    }

    private synchronized Operation borrowFromPool() {
        if (favourite == null || !favourite.isAlive()) {
            favourite = Thread.currentThread();
        }
        Operation operation = pool.poll();
        return operation == null ? new Operation() : operation;
    }

    void giveBack(Operation operation) {
        if (Thread.currentThread() == favourite && spare == null) {
            spare = operation;
        } else {
            synchronized (this) {
                pool.push(operation);
            }
        }
    }

    /**
     * Notes an operation before the library is called with it, and numbers it if it is a message.
     */
    synchronized void begin(Operation operation) {
        number(operation);
        record(operation);
        add(operation, System.nanoTime());
    }

    /**
     * The same for one that its caller waits for. Its clock starts when the watchdog sees it first,
     * which is soon enough for a deadline: reading the time would be a quarter of what a call
     * costs. The caller has the monitor.
     */
    void beginSynchronous(Operation operation) {
        number(operation);
        record(operation);
        add(operation, NOT_SEEN);
    }

    /**
     * Numbers and records an operation that goes straight to the caller's stream, so that its end
     * is not seen unless it is the one to {@link #watch}.
     */
    void note(Operation operation) {
        if (!operation.kind.isCollective()) {
            synchronized (this) {
                number(operation);
            }
        }
        record(operation);
    }

    /** Counts an operation as running from now on, until {@link #end}. */
    synchronized void watch(Operation operation) {
        add(operation, System.nanoTime());
    }

    private void number(Operation operation) {
        if (!operation.kind.isCollective() && operation.peer != Communicator.ANY_SOURCE) {
            operation.sequence = messages.next(operation.kind, operation.peer, operation.tag);
        }
    }

    private void record(Operation operation) {
        if (recorder != null) {
            recorder.begin(operation);
        }
    }

    private void add(Operation operation, long startNanos) {
        operation.startNanos = startNanos;
        operation.runningIndex = running.size();
        running.add(operation);
    }

    /** Forgets an operation that the library is done with, and lets its memory go. */
    void end(Operation operation) {
        synchronized (this) {
            remove(operation);
        }
        letGo(operation);
    }

    /** The first half of {@link #end}, for a caller that has the monitor. */
    void remove(Operation operation) {
        Operation last = running.remove(running.size() - 1);
        if (last != operation) {
            running.set(operation.runningIndex, last);
            last.runningIndex = operation.runningIndex;
        }
        signal();
    }

    /** The second half of {@link #end}, without the monitor. */
    void letGo(Operation operation) {
        if (recorder != null) {
            recorder.end(operation);
        }
        operation.releaseMemory();
    }

    synchronized boolean isEmpty() {
        return running.isEmpty();
    }

    synchronized boolean hasCollective() {
        return running.stream().anyMatch(operation -> operation.kind.isCollective());
    }

    /** Blocks until an operation ends or the time is over. */
    synchronized void awaitEnd(long millis) throws InterruptedException {
        if (!running.isEmpty()) {
            awaitSignal(millis);
        }
    }

    /** Blocks until an operation ends, something else is signalled, or the time is over. */
    synchronized void awaitSignal(long millis) throws InterruptedException {
        waiting++;
        try {
            wait(millis);
        } finally {
            waiting--;
        }
    }

    /** Wakes whoever awaits a signal. The caller has the monitor. */
    void signal() {
        if (waiting > 0) {
            notifyAll();
        }
    }

    synchronized List<Operation> list() {
        return List.copyOf(running);
    }

    /** Collectives that a barrier must see completed; the library may complete it before them. */
    synchronized List<HostWork> startedBefore(Operation barrier) {
        return running.stream()
                .filter(each -> each.kind.isCollective() && each.sequence < barrier.sequence)
                .filter(HostWork.class::isInstance)
                .map(HostWork.class::cast)
                .toList();
    }

    /**
     * Operations that take long.
     *
     * @param suspects those that may be stuck, for comparing ranks
     * @param expired one that is over its deadline, or null
     */
    record Overdue(List<DesyncDetector.Suspect> suspects, FailureContext expired) {}

    synchronized Overdue overdue(long now, long timeoutNanos, FailureContext group) {
        List<DesyncDetector.Suspect> suspects = new ArrayList<>();
        FailureContext expired = null;
        // Earlier when the deadline is near: by then ranks must have written where they are.
        long suspiciousNanos = Math.min(DIAGNOSE_AFTER_NANOS, timeoutNanos / 2);
        // Described under the lock: a synchronous call's object is reused once it has ended.
        for (Operation operation : running) {
            if (operation.startNanos == NOT_SEEN) {
                operation.startNanos = now;
            }
            long age = now - operation.startNanos;
            if (age > timeoutNanos) {
                expired = operation.context(group);
            } else if (age > suspiciousNanos) {
                suspects.add(DesyncDetector.Suspect.of(operation, operation.context(group)));
            }
        }
        return new Overdue(suspects, expired);
    }
}
