package org.jccl.internal.host;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import org.jccl.FailureContext;
import org.jccl.GroupAbortedException;
import org.jccl.JcclException;
import org.jccl.MismatchException;
import org.jccl.PeerLostException;
import org.jccl.Work;
import org.jccl.internal.backend.VirtualThreads;
import org.jccl.internal.diagnosis.DesyncDetector;
import org.jccl.internal.engine.Engine;
import org.jccl.internal.operation.MemoryUses;
import org.jccl.internal.operation.Operation;
import org.jccl.internal.operation.RunningOperations;
import org.jccl.spi.BoundedCall;
import org.jccl.spi.CallLock;
import org.jccl.spi.Capabilities.Feature;
import org.jccl.spi.CleanUp;
import org.jccl.spi.Durations;
import org.jccl.spi.HostCommunicator;
import org.jccl.spi.OperationKind;
import org.jccl.spi.Polling;

/**
 * The engine of libraries that work on the calling thread. Messages start at once and need no
 * order. Collectives run in the order of their numbers: the thread that holds the queue lock runs
 * the head of the queue. That is a worker thread, a thread that awaits a work in the queue, or a
 * synchronous caller, which first runs what was queued before it. So there is one order and no
 * thread change that a waiting caller has to pay. If nothing ends a collective of the library, only
 * the worker runs works, and waiting threads leave at the deadline.
 *
 * <p>Two locks: the queue lock, which is held while the library is called, and the monitor of the
 * running operations, which guards the queue itself, is held for a few instructions only, and is
 * taken inside the queue lock, never around it.
 */
public final class HostEngine extends Engine implements MemoryUses.Group {

    private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(10);

    private final HostCommunicator communicator;

    /** Whether a thread inside a collective may never return. */
    private final boolean endless;

    private final TensorLocation location;
    private final Staging staging;

    private final UnorderedThreads unordered;

    /** Held while a collective is called. */
    private final CallLock queueLock = new CallLock(failure::isSet);

    // Guarded by the monitor of the running operations.
    private final ArrayDeque<HostWork> queue = new ArrayDeque<>();

    /** The work that was taken last; it may not be running yet. */
    private HostWork taken;

    private Thread worker;
    private boolean queueClosed;

    /** Whether a thread of its own asks for the cause of a lost peer or a mismatch. */
    private volatile boolean explaining;

    /** Creates an engine. */
    public HostEngine(
            HostCommunicator communicator,
            FailureContext context,
            Duration timeout,
            DesyncDetector detector,
            TensorLocation location) {
        super(communicator, context, timeout, detector);
        this.communicator = communicator;
        this.endless = communicator.capabilities().has(Feature.ENDLESS_COLLECTIVES);
        this.location = location;
        this.staging = location.staging(communicator, failure);
        this.unordered = new UnorderedThreads(context, running);
    }

    @Override
    public Operation newOperation() {
        return new HostWork(this);
    }

    @Override
    public Work submit(Operation operation) {
        HostWork work = (HostWork) operation;
        boolean collective = work.kind.isCollective();
        boolean compared = beginOrder(work);
        try {
            requireUsable(work);
            location.orderAfterCaller(work, context);
            synchronized (running) {
                requireUsable(work);
                if (collective) {
                    collectives.add(work);
                    queue.add(work);
                } else {
                    // Begins at once: otherwise closing might free the communicator in between.
                    running.begin(work, System.nanoTime());
                }
            }
            if (collective) {
                wakeWorker();
                return work;
            }
        } finally {
            endOrder(compared);
        }
        try {
            location.enter();
            long request = staging.stages(work) ? staging.start(work) : work.call(communicator);
            if (request == HostCommunicator.COMPLETE) {
                finish(work, -1, null);
            } else {
                work.started(request);
            }
        } catch (Throwable e) {
            finish(work, -1, failed(e, work));
        }
        return work;
    }

    @Override
    public boolean flattensLists() {
        return location.flattensLists();
    }

    @Override
    public List<Work> submitBatch(List<Operation> operations) {
        boolean compared = beginOrder(operations);
        List<Work> works = new ArrayList<>(operations.size());
        try {
            requireUsable(operations);
            for (Operation operation : operations) {
                works.add(submit(operation));
            }
            return works;
        } catch (RuntimeException | Error e) {
            // What was not issued would hold its tensors for ever.
            operations.subList(works.size(), operations.size()).forEach(Operation::releaseMemory);
            throw e;
        } finally {
            endOrder(compared);
        }
    }

    private void prepareOwnThread() {
        try {
            location.prepareOwnThread();
        } catch (JcclException e) {
            fail(e.at(context));
        }
    }

    /** Has the worker run the queued works. */
    private void wakeWorker() {
        try {
            synchronized (running) {
                if (worker == null) {
                    String name = "jccl-" + context.group() + "-" + context.rank();
                    Thread fresh = new Thread(this::work, name);
                    fresh.setDaemon(true);
                    fresh.start();
                    worker = fresh;
                } else {
                    running.notifyAll();
                }
            }
        } catch (OutOfMemoryError e) {
            // Otherwise nothing would run the queued works, and they have no deadline.
            fail(new GroupAbortedException(context, "no thread can be started for it: " + e, e));
            drainQueue();
        }
    }

    /** The worker waits for works and runs them. */
    private void work() {
        prepareOwnThread();
        while (true) {
            synchronized (running) {
                while (queue.isEmpty()) {
                    if (queueClosed) {
                        return;
                    }
                    try {
                        running.wait();
                    } catch (InterruptedException e) {
                        // Only close ends this thread.
                        continue;
                    }
                }
            }
            try {
                drainQueue();
            } catch (Throwable e) {
                // This thread is the only one that runs works that nobody awaits.
                CleanUp.log(context.toString(), e);
            }
        }
    }

    /** Runs all queued works, or ends them if the group has failed. */
    private void drainQueue() {
        if (!queueLock.lock()) {
            refuseQueue();
            return;
        }
        try {
            HostWork head;
            while ((head = take(Long.MAX_VALUE)) != null) {
                runQueued(head);
            }
        } finally {
            queueLock.unlock();
        }
    }

    /** Ends all queued works; the group has failed. Needs no lock. */
    private void refuseQueue() {
        HostWork head;
        while ((head = take(Long.MAX_VALUE)) != null) {
            refuse(head);
        }
    }

    /**
     * Takes the first work, unless it comes after one with a number, or returns null. A caller that
     * runs it has the queue lock.
     */
    private HostWork take(long last) {
        synchronized (running) {
            HostWork head = queue.peek();
            if (head == null || head.sequence > last) {
                return null;
            }
            taken = queue.remove();
            return taken;
        }
    }

    /** Runs a work that was taken from the queue. The caller has the queue lock. */
    private void runQueued(HostWork work) {
        if (failure.isSet()) {
            refuse(work);
            return;
        }
        running.begin(work);
        JcclException cause = null;
        try {
            location.enter();
            if (staging.stages(work)) {
                staging.run(work);
            } else {
                work.call(communicator);
            }
        } catch (Throwable e) {
            cause = notStarted(e, work);
        }
        finish(work, -1, cause);
    }

    /** Ends a work that was not begun when the group failed. */
    private void refuse(HostWork work) {
        work.releaseMemory();
        work.complete(-1, failure.forLaterCall(contextOf(work)));
    }

    /**
     * Records that a thread of the program blocks for a work; returns 0 if that is not recorded.
     */
    long beginWait(HostWork work) {
        return work.isDone() ? 0 : running.beginWait(work);
    }

    void endWait(Operation work, long began) {
        if (began != 0) {
            running.endWait(work, began);
        }
    }

    /**
     * Returns when the work is done, and runs it on the calling thread if possible. A virtual
     * thread leaves it to other threads: inside the library it would pin the platform thread that
     * another rank may wait for.
     */
    void await(HostWork work) {
        if (VirtualThreads.isCurrent()) {
            work.end().join();
            return;
        }
        location.enter();
        while (!work.isDone()) {
            if (work.claim()) {
                awaitRequest(work, true);
                return;
            }
            if (!endless && work.kind.isCollective() && queueLock.tryLock()) {
                try {
                    // Here, not in drainQueue: a call passes as few methods as it can.
                    HostWork head;
                    while ((head = take(work.sequence)) != null) {
                        runQueued(head);
                    }
                } finally {
                    queueLock.unlock();
                }
            }
            work.park();
        }
    }

    /**
     * Waits for the request of a claimed work.
     *
     * @param mayAsk whether the calling thread may wait for the store to learn why a peer is lost
     */
    private void awaitRequest(HostWork work, boolean mayAsk) {
        int source = -1;
        JcclException cause = null;
        try {
            source =
                    staging.stages(work)
                            ? staging.await(work.request())
                            : communicator.await(work.request());
        } catch (Throwable e) {
            boolean askable = e instanceof PeerLostException || e instanceof MismatchException;
            boolean asks = askable && !failure.isSet() && detector.asks();
            if (asks && !mayAsk && explainOnOwnThread(e, work)) {
                return;
            }
            cause = failed(e, work);
        }
        finish(work, source, cause);
    }

    /** Returns false if no thread can be started: then the work ends with what is known. */
    private boolean explainOnOwnThread(Throwable thrown, HostWork work) {
        explaining = true;
        try {
            BoundedCall.start("jccl-explain-" + context.group(), () -> explain(thrown, work));
            return true;
        } catch (OutOfMemoryError e) {
            explaining = false;
            return false;
        }
    }

    private void explain(Throwable thrown, HostWork work) {
        try {
            finish(work, -1, failed(thrown, work));
        } finally {
            explaining = false;
        }
    }

    /** Completes a started work if its request is ready, without blocking. */
    void completeIfReady(HostWork work) {
        location.enter();
        // While one work finds out why its peer is lost, the others wait for its answer.
        if (!explaining && work.claim()) {
            boolean ready;
            try {
                // After a failure too: a library may be long in letting go of it.
                ready = isReady(work);
            } catch (Throwable e) {
                ready = true;
            }
            if (ready) {
                awaitRequest(work, false);
            } else {
                work.started(work.request());
            }
        }
    }

    private boolean isReady(HostWork work) {
        return staging.stages(work)
                ? staging.test(work.request())
                : communicator.test(work.request());
    }

    /** Ends a work. Closing waits for running operations, so the work leaves their list last. */
    private void finish(HostWork work, int source, JcclException cause) {
        work.releaseMemory();
        work.complete(source, cause);
        running.end(work, cause);
    }

    @Override
    public int run(Operation operation) {
        if (VirtualThreads.isCurrent()) {
            return runElsewhere(operation);
        }
        boolean compared = beginOrder(operation);
        boolean collective = operation.kind.isCollective();
        long began = 0;
        try {
            requireUsable(operation);
            location.orderAfterCaller(operation, context);
            began = running.beginWait(operation);
            if (collective) {
                beginCollective(operation);
            } else {
                beginMessage(operation);
            }
        } catch (RuntimeException | Error e) {
            endWait(operation, began);
            throw e;
        } finally {
            endOrder(compared);
        }
        JcclException cause = null;
        try {
            location.enter();
            if (staging.stages(operation)) {
                if (!collective) {
                    return staging.await(staging.start(operation));
                }
                staging.run(operation);
            } else {
                long request = operation.call(communicator);
                if (request != HostCommunicator.COMPLETE) {
                    return communicator.await(request);
                }
            }
            return -1;
        } catch (Throwable e) {
            cause = collective ? notStarted(e, operation) : failed(e, operation);
            throw cause.forCaller();
        } finally {
            if (began != 0) {
                running.endWait(operation, began);
            }
            running.endAndGiveBack(operation, cause);
            if (collective) {
                queueLock.unlock();
            }
        }
    }

    private int runElsewhere(Operation operation) {
        HostWork work = new HostWork(this);
        operation.moveTo(work);
        running.giveBack(operation);
        submit(work).await();
        return work.sourceRank();
    }

    /** Takes the queue lock for a synchronous operation, after what was queued before it. */
    private void beginCollective(Operation operation) {
        if (!queueLock.tryLock()) {
            unordered.look(operation);
            if (!queueLock.lock()) {
                throw refused(operation);
            }
        }
        try {
            while (true) {
                synchronized (running) {
                    requireUsable(operation);
                    if (queue.isEmpty()) {
                        collectives.add(operation);
                        running.beginSynchronous(operation);
                        return;
                    }
                }
                if (endless) {
                    queueLock.unlock();
                    awaitQueued();
                    if (!queueLock.lock()) {
                        throw refused(operation);
                    }
                } else {
                    drainQueue();
                }
            }
        } catch (Throwable e) {
            if (queueLock.isHeld()) {
                queueLock.unlock();
            }
            throw e;
        }
    }

    /** Waits until the worker has run what is in the queue, or the group has failed. */
    private void awaitQueued() {
        HostWork last;
        synchronized (running) {
            last = queue.peekLast();
        }
        if (last != null) {
            last.end().join();
        }
    }

    private void beginMessage(Operation operation) {
        synchronized (running) {
            requireUsable(operation);
            running.beginSynchronous(operation);
        }
    }

    @Override
    public FailureContext collision(long start, long end, boolean writes, int size) {
        if (!isUsable()) {
            return null; // the contents are undefined, and the program may start over with them
        }
        int rank = context.rank();
        synchronized (running) {
            Operation found = running.collision(start, end, writes, rank, size);
            if (found == null) {
                found = queuedCollision(start, end, writes, rank, size);
            }
            // Described under the lock: a synchronous call's object is reused once it has ended.
            return found == null ? null : contextOf(found);
        }
    }

    /** Same as {@link RunningOperations#collision}, for works that were not called yet. */
    private HostWork queuedCollision(long start, long end, boolean writes, int rank, int size) {
        for (HostWork work : queue) {
            if (work.collides(start, end, writes, rank, size)) {
                return work;
            }
        }
        boolean called = taken == null || taken.isDone();
        return !called && taken.collides(start, end, writes, rank, size) ? taken : null;
    }

    @Override
    public void onFailure() {
        HostWork inside;
        synchronized (running) {
            inside = taken;
        }
        // Not left to the thread that has the queue lock, which may be stuck inside the library.
        refuseQueue();
        if (endless && !queueLock.isHeld()) {
            leaveCollective(inside);
        }
    }

    /**
     * A thread may never return from the library. If that is the worker, others need not wait for
     * it; the work keeps its memory. If it is a thread of the program, the job ends.
     *
     * @param work the one that the worker took last, or null
     */
    private void leaveCollective(HostWork work) {
        if (work != null) {
            work.complete(-1, failure.get());
        }
        // It may be just returning.
        long deadline = System.nanoTime() + abortGracePeriod.toNanos();
        OperationKind kind;
        while ((kind = synchronousCollective()) != null) {
            if (System.nanoTime() - deadline > 0) {
                endJob(kind, communicator::endJob);
            }
            Polling.sleep(Duration.ofMillis(1));
        }
    }

    /** Returns the kind of the synchronous collective that is inside the library, or null. */
    private OperationKind synchronousCollective() {
        synchronized (running) { // the object is reused once its call has ended
            return running.list().stream()
                    .filter(each -> each.kind.isCollective() && !(each instanceof HostWork))
                    .map(each -> each.kind)
                    .findFirst()
                    .orElse(null);
        }
    }

    @Override
    public void prepareWatching() {
        prepareOwnThread();
    }

    @Override
    public void completeUnawaited() {
        if (!location.tryEnter(e -> fail(e.at(context)))) {
            return;
        }
        boolean over = failure.isOlderThan(abortGracePeriod.toNanos());
        for (Operation operation : running.list()) {
            if (operation instanceof HostWork work && !work.isCompleted() && over) {
                // Only for those who wait: a thread, or the library, still has it and its memory.
                work.complete(-1, failure.forLaterCall(contextOf(work)));
            }
        }
    }

    @Override
    public void completeEnded() {
        completeUnawaited();
    }

    @Override
    public void close(Duration polling) {
        synchronized (running) {
            if (!beginClosing()) {
                return;
            }
            queueClosed = true;
            running.notifyAll();
        }
        try {
            // Each work in the queue has its own deadline, so this ends.
            if (endless) {
                awaitQueued();
            } else {
                drainQueue();
            }
            endOperations(polling);
        } finally {
            // Otherwise a thread is still inside the library, which may use the memory: leak it.
            if (running.isEmpty()) {
                free();
            }
        }
    }

    /** On a thread that can be left behind: the library or a device may not return. */
    private void free() {
        boolean done;
        try {
            done = BoundedCall.run("jccl-close-" + context.group(), this::freeNow, CLOSE_TIMEOUT);
        } catch (OutOfMemoryError e) {
            CleanUp.log(context + ": no thread can be started to close it", e);
            freeNow();
            return;
        }
        if (!done) {
            CleanUp.log(
                    context + ": its communicator was not freed",
                    "the library did not close it within " + Durations.text(CLOSE_TIMEOUT));
        }
    }

    private void freeNow() {
        location.tryEnter(e -> CleanUp.log(context.toString(), e));
        try {
            if (!communicator.abandonsOperations()) {
                staging.close();
            }
        } finally {
            freeCommunicator();
        }
    }
}
