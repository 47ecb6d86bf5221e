package org.jccl.internal.host;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jccl.FailureContext;
import org.jccl.JcclException;
import org.jccl.Work;
import org.jccl.internal.backend.VirtualThreads;
import org.jccl.internal.diagnosis.DesyncDetector;
import org.jccl.internal.engine.Engine;
import org.jccl.internal.operation.HostMemoryUses;
import org.jccl.internal.operation.Operation;
import org.jccl.spi.BoundedCall;
import org.jccl.spi.Capabilities.Feature;
import org.jccl.spi.CleanUp;
import org.jccl.spi.Durations;
import org.jccl.spi.HostCommunicator;
import org.jccl.spi.HostCommunicator.Mode;
import org.jccl.spi.OperationKind;

/**
 * The engine of libraries that work on the calling thread. Collectives run in the order of their
 * numbers, see {@link CollectiveQueue}. Messages are started at once and need no order.
 */
public final class HostEngine extends Engine implements HostMemoryUses.Group {

    private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(10);

    private final HostCommunicator communicator;
    private final boolean startsCollectives;
    private final TensorLocation location;
    private final Staging staging;

    private final CollectiveQueue queue;
    private final RequestCompletion completion;

    private final UnorderedThreads unordered;

    /** Guarded by the queue lock. */
    private final StartedCollectives started = new StartedCollectives();

    /** Creates an engine. */
    public HostEngine(
            HostCommunicator communicator,
            FailureContext context,
            Duration timeout,
            DesyncDetector detector,
            TensorLocation location) {
        super(communicator, context, timeout, detector);
        this.communicator = communicator;
        this.startsCollectives = communicator.capabilities().has(Feature.NONBLOCKING_COLLECTIVES);
        this.location = location;
        this.staging = location.staging(communicator, failure);
        this.queue = new CollectiveQueue(this, running, context);
        this.unordered = new UnorderedThreads(context, running);
        this.completion = new RequestCompletion(this, communicator, staging, running, detector);
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
                queue.start(startsCollectives);
                return work;
            }
        } finally {
            endOrder(compared);
        }
        try {
            location.enter();
            long request =
                    staging.stages(work)
                            ? staging.start(work)
                            : work.call(communicator, Mode.NONBLOCKING);
            if (request == HostCommunicator.COMPLETE) {
                finish(work, work.kind == OperationKind.RECV ? work.peer : -1, null);
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

    void prepareOwnThread() {
        try {
            location.prepareOwnThread();
        } catch (JcclException e) {
            fail(e.at(context));
        }
    }

    /** Whether {@link #runQueued} may block for a work. The caller has the queue lock. */
    boolean mayBlock(HostWork work) {
        return staging.stages(work) || started.isFull();
    }

    /** Runs a work that was taken from the queue. The caller has the queue lock. */
    void runQueued(HostWork work) {
        while (started.isFull()) {
            await(started.oldest());
        }
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
                Mode mode = startsCollectives ? Mode.NONBLOCKING : Mode.BLOCKING;
                long request = work.call(communicator, mode);
                if (request != HostCommunicator.COMPLETE) {
                    started.add(work);
                    work.started(request);
                    return;
                }
            }
        } catch (Throwable e) {
            cause = notStarted(e, work);
        }
        finish(work, -1, cause);
    }

    /** Ends a work that was not begun when the group failed. */
    void refuse(HostWork work) {
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

    /** Returns when the work is done, and runs it on the calling thread if possible. */
    void await(HostWork work) {
        if (VirtualThreads.isCurrent()) {
            awaitElsewhere(work);
            return;
        }
        location.enter();
        while (!work.isDone()) {
            if (work.claim()) {
                completion.await(work, true);
                return;
            }
            if (work.kind.isCollective() && queue.tryLock()) {
                try {
                    // Here, not in a method of the queue: a call passes as few methods as it can.
                    HostWork head;
                    while ((head = queue.take(work.sequence)) != null) {
                        runQueued(head);
                    }
                } finally {
                    queue.unlock();
                }
            }
            work.park();
        }
    }

    /**
     * Leaves the work to other threads. A virtual thread that waits inside the library pins the
     * platform thread that another rank may wait for.
     */
    private static void awaitElsewhere(HostWork work) {
        work.end().join();
    }

    /** Ends a work. Closing waits for running operations, so the work leaves their list last. */
    void finish(HostWork work, int source, JcclException cause) {
        work.releaseMemory();
        work.complete(source, cause);
        running.end(work, cause);
    }

    /** Completes a started work if its request is ready, without blocking. */
    void completeIfReady(HostWork work) {
        location.enter();
        completion.completeIfReady(work);
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
            } else if (operation.kind == OperationKind.RECV) {
                long request = operation.call(communicator, Mode.NONBLOCKING);
                return request == HostCommunicator.COMPLETE
                        ? operation.peer
                        : communicator.await(request);
            } else {
                operation.call(communicator, Mode.BLOCKING);
            }
            completion.awaitCollectivesBefore(operation);
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
                queue.unlock();
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
        if (!queue.tryLock()) {
            unordered.look(operation);
            if (!queue.lock()) {
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
                queue.drain();
            }
        } catch (Throwable e) {
            queue.unlock();
            throw e;
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
                found = queue.collision(start, end, writes, rank, size);
            }
            // Described under the lock: a synchronous call's object is reused once it has ended.
            return found == null ? null : contextOf(found);
        }
    }

    @Override
    public void onFailure() {
        // Not left to the thread that has the queue lock, which may be stuck inside the library.
        queue.refuseAll();
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
            queue.close();
        }
        try {
            queue.drain(); // each work in the queue has its own deadline, so this ends
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
            CleanUp.failed(context + ": no thread is left to close it", e);
            freeNow();
            return;
        }
        if (!done) {
            CleanUp.failed(
                    context + ": its communicator is left behind",
                    new IllegalStateException(
                            "the library did not close it in " + Durations.text(CLOSE_TIMEOUT)));
        }
    }

    private void freeNow() {
        location.tryEnter(e -> CleanUp.failed(context.toString(), e));
        try {
            if (!communicator.abandonsOperations()) {
                staging.close();
            }
        } finally {
            freeCommunicator();
        }
    }
}
