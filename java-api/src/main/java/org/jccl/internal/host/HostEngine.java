package org.jccl.internal.host;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import org.jccl.FailureContext;
import org.jccl.GroupAbortedException;
import org.jccl.JcclException;
import org.jccl.MismatchException;
import org.jccl.PeerLostException;
import org.jccl.Work;
import org.jccl.internal.backend.VirtualThreads;
import org.jccl.internal.diagnosis.DesyncDetector;
import org.jccl.internal.engine.Engine;
import org.jccl.internal.operation.Operation;
import org.jccl.spi.BoundedCall;
import org.jccl.spi.CleanUp;
import org.jccl.spi.HostCommunicator;
import org.jccl.spi.HostCommunicator.Mode;
import org.jccl.spi.OperationKind;

/**
 * The engine of libraries that work on the calling thread.
 *
 * <p>Collectives have one order, that of their numbers. Asynchronous ones wait in a queue; whoever
 * holds the {@link #turn} runs its head: a worker thread, a thread that awaits a work in the queue,
 * or a synchronous caller, which first runs what was queued before it. So there is one order and no
 * thread change that a waiting caller has to pay. Messages are started at once and need no turn.
 *
 * <p>Two locks: the turn, which is held while the library is called, and the monitor of the running
 * operations, which is held for a few instructions only and taken inside the turn, never around it.
 */
public final class HostEngine extends Engine {

    private final HostCommunicator communicator;
    private final boolean startsCollectives;
    private final TensorPlace place;
    private final Carrier carrier;

    /** The right to call collectives, of one thread at a time. */
    private final ReentrantLock turn = new ReentrantLock();

    /** Guarded by the turn. */
    private final StartedCollectives started = new StartedCollectives();

    // Guarded by the monitor of the running operations.
    private final ArrayDeque<HostWork> queue = new ArrayDeque<>();
    private Thread worker;

    /** Whether a thread of its own asks why a peer is lost, or what another rank issued. */
    private volatile boolean explaining;

    /**
     * Creates an engine.
     *
     * @param communicator connected; the engine owns it
     * @param context group and rank
     * @param timeout deadline of each operation
     * @param detector compares the ranks when one is stuck
     * @param place where the tensors are; the engine owns it
     */
    public HostEngine(
            HostCommunicator communicator,
            FailureContext context,
            Duration timeout,
            DesyncDetector detector,
            TensorPlace place) {
        super(communicator, context, timeout, detector);
        this.communicator = communicator;
        this.startsCollectives = communicator.capabilities().nonBlockingCollectives();
        this.place = place;
        this.carrier = place.carrier(communicator, failure);
    }

    @Override
    public Operation newOperation() {
        return new HostWork(this);
    }

    @Override
    public Work submit(Operation operation) {
        admit(operation);
        requireUsable(operation);
        HostWork work = (HostWork) operation;
        place.orderAfterCaller(work, context);
        if (work.kind.isCollective()) {
            enqueue(work);
        } else {
            startMessage(work);
        }
        return work;
    }

    @Override
    public boolean flattensLists() {
        return place.flattensLists();
    }

    @Override
    public List<Work> submitBatch(List<Operation> operations) {
        admit(operations);
        requireUsable(operations);
        List<Work> works = new ArrayList<>(operations.size());
        try {
            for (Operation operation : operations) {
                works.add(submit(operation));
            }
            return works;
        } catch (RuntimeException | Error e) {
            // What was not issued would hold its tensors for ever.
            operations.subList(works.size(), operations.size()).forEach(Operation::releaseMemory);
            throw e;
        }
    }

    private void enqueue(HostWork work) {
        synchronized (running) {
            requireUsable(work);
            collectives.add(work);
            queue.add(work);
        }
        // Whoever has the turn may already have seen an empty queue, then the worker comes next.
        if (!startsCollectives || !turn.tryLock()) {
            wakeWorker();
            return;
        }
        try {
            startQueued();
        } finally {
            turn.unlock();
        }
    }

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
            // What is queued would have nobody to run it, and no deadline.
            fail(new GroupAbortedException(context, "no thread is left for it: " + e, e));
            drain();
        }
    }

    /** Starts the queue's works as long as that blocks nobody. The caller has the turn. */
    private void startQueued() {
        while (true) {
            HostWork head;
            synchronized (running) {
                head = queue.peek();
                if (head == null) {
                    return;
                }
                if (carrier.carries(head) || started.isFull()) {
                    break;
                }
                queue.remove();
            }
            runQueued(head);
        }
        wakeWorker();
    }

    /** The worker's life: wait for works, take the turn, run them. */
    private void work() {
        prepareOwnThread();
        while (true) {
            synchronized (running) {
                while (queue.isEmpty()) {
                    if (closed) {
                        return;
                    }
                    try {
                        running.wait();
                    } catch (InterruptedException e) {
                        // Nobody has a reason to interrupt this thread; closing ends it.
                        continue;
                    }
                }
            }
            try {
                drain();
            } catch (Throwable e) {
                // This thread is the only one that runs what nobody awaits.
                CleanUp.failed(context.toString(), e);
            }
        }
    }

    private void prepareOwnThread() {
        try {
            place.prepareOwnThread();
        } catch (JcclException e) {
            fail(e.at(context));
        }
    }

    /** Takes the turn and runs all of the queue's works. */
    private void drain() {
        turn.lock();
        try {
            for (HostWork head = takeHead(Long.MAX_VALUE);
                    head != null;
                    head = takeHead(Long.MAX_VALUE)) {
                runQueued(head);
            }
        } finally {
            turn.unlock();
        }
    }

    /** The first work in the queue, unless it comes after one with a number; or null. */
    private HostWork takeHead(long last) {
        synchronized (running) {
            HostWork head = queue.peek();
            return head == null || head.sequence > last ? null : queue.remove();
        }
    }

    /** The caller has the turn. */
    private void runQueued(HostWork work) {
        while (started.isFull()) {
            await(started.oldest());
        }
        if (failure.isSet()) {
            work.releaseMemory();
            work.complete(-1, failure.forLaterCall(contextOf(work)));
            return;
        }
        running.begin(work);
        JcclException cause = null;
        try {
            place.enter();
            if (carrier.carries(work)) {
                carrier.run(work);
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

    private void startMessage(HostWork work) {
        synchronized (running) {
            // At once: in between, closing would see nothing that runs, and free the communicator.
            requireUsable(work);
            running.begin(work, System.nanoTime());
        }
        try {
            place.enter();
            long request =
                    carrier.carries(work)
                            ? carrier.start(work)
                            : work.call(communicator, Mode.NONBLOCKING);
            if (request != HostCommunicator.COMPLETE) {
                work.started(request);
                return;
            }
            finish(work, work.kind == OperationKind.RECV ? work.peer : -1, null);
        } catch (Throwable e) {
            JcclException cause = failed(e, work);
            finish(work, -1, cause);
        }
    }

    /** Notes that a thread of the program blocks for a work from now on; 0 if that is not kept. */
    long beginWait(HostWork work) {
        return work.isDone() ? 0 : running.beginWait(work);
    }

    void endWait(Operation work, long began) {
        if (began != 0) {
            running.endWait(work, began);
        }
    }

    /** Returns when the work is done, bringing it forward on the calling thread where possible. */
    void await(HostWork work) {
        if (VirtualThreads.isCurrent()) {
            awaitElsewhere(work);
            return;
        }
        place.enter();
        while (!work.isDone()) {
            if (work.claim()) {
                complete(work, true);
                return;
            }
            if (work.kind.isCollective() && turn.tryLock()) {
                try {
                    for (HostWork head = takeHead(work.sequence);
                            head != null;
                            head = takeHead(work.sequence)) {
                        runQueued(head);
                    }
                } finally {
                    turn.unlock();
                }
            }
            work.park();
        }
    }

    /**
     * Leaves the work to other threads. A virtual one that waits inside the library keeps its
     * carrier from the thread that another rank waits for.
     */
    private static void awaitElsewhere(HostWork work) {
        work.end().join();
    }

    /** Ends a work. Closing waits for what runs, so it leaves that list last. */
    private void finish(HostWork work, int source, JcclException cause) {
        work.releaseMemory();
        work.complete(source, cause);
        running.end(work, cause);
    }

    /**
     * Waits for a claimed work's request.
     *
     * @param mayAsk whether the calling thread may wait for the store, to say why a peer is lost
     */
    private void complete(HostWork work, boolean mayAsk) {
        int source = -1;
        JcclException cause = null;
        try {
            source =
                    carrier.carries(work)
                            ? carrier.await(work.request())
                            : communicator.await(work.request());
            awaitStartedBefore(work);
        } catch (Throwable e) {
            boolean askable = e instanceof PeerLostException || e instanceof MismatchException;
            boolean asks = askable && !failure.isSet() && detector.asks();
            if (asks && !mayAsk && explainsElsewhere(e, work)) {
                return;
            }
            cause = failed(e, work);
        }
        finish(work, source, cause);
    }

    /** False where no thread is left for it: then the work ends with what is known. */
    private boolean explainsElsewhere(Throwable thrown, HostWork work) {
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
        place.enter();
        // While one work finds out why its peer is lost, the others wait for its answer.
        if (!explaining && work.claim()) {
            boolean ready;
            try {
                ready = failure.isSet() || isReady(work);
            } catch (Throwable e) {
                ready = true;
            }
            if (ready) {
                complete(work, false);
            } else {
                work.started(work.request());
            }
        }
    }

    /** A barrier of the library's says nothing about a collective before it, as that it failed. */
    private void awaitStartedBefore(Operation operation) {
        if (operation.kind == OperationKind.BARRIER) {
            startedBefore(operation).forEach(this::await);
            if (failure.isSet()) {
                throw failure.forLaterCall(contextOf(operation));
            }
        }
    }

    private List<HostWork> startedBefore(Operation barrier) {
        return running.startedBefore(barrier).stream()
                .filter(HostWork.class::isInstance)
                .map(HostWork.class::cast)
                .toList();
    }

    private boolean isReady(HostWork work) {
        boolean ended =
                carrier.carries(work)
                        ? carrier.test(work.request())
                        : communicator.test(work.request());
        return ended
                && (work.kind != OperationKind.BARRIER
                        || startedBefore(work).stream().allMatch(HostWork::isCompleted));
    }

    @Override
    public int run(Operation operation) {
        if (VirtualThreads.isCurrent()) {
            return runElsewhere(operation);
        }
        admit(operation);
        requireUsable(operation);
        place.orderAfterCaller(operation, context);
        boolean collective = operation.kind.isCollective();
        long began = running.beginWait(operation);
        try {
            if (collective) {
                beginCollective(operation);
            } else {
                beginMessage(operation);
            }
        } catch (RuntimeException | Error e) {
            endWait(operation, began);
            throw e;
        }
        JcclException cause = null;
        try {
            place.enter();
            if (carrier.carries(operation)) {
                if (!collective) {
                    return carrier.await(carrier.start(operation));
                }
                carrier.run(operation);
            } else if (operation.kind == OperationKind.RECV) {
                long request = operation.call(communicator, Mode.NONBLOCKING);
                return request == HostCommunicator.COMPLETE
                        ? operation.peer
                        : communicator.await(request);
            } else {
                operation.call(communicator, Mode.BLOCKING);
            }
            awaitStartedBefore(operation);
            return -1;
        } catch (Throwable e) {
            cause = collective ? notStarted(e, operation) : failed(e, operation);
            throw cause;
        } finally {
            if (began != 0) {
                running.endWait(operation, began);
            }
            running.endAndGiveBack(operation, cause);
            if (collective) {
                turn.unlock();
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

    /** Takes the turn for a synchronous operation, when what was queued before it has run. */
    private void beginCollective(Operation operation) {
        turn.lock();
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
                drain();
            }
        } catch (Throwable e) {
            turn.unlock();
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
    public void onFailure() {
        synchronized (running) {
            // The worker completes what still waits.
            running.notifyAll();
        }
    }

    @Override
    public void prepareWatching() {
        prepareOwnThread();
    }

    @Override
    public void completeUnawaited() {
        if (!place.tryEnter(e -> fail(e.at(context)))) {
            return;
        }
        for (Operation operation : running.list()) {
            if (operation instanceof HostWork work) {
                work.isCompleted();
            }
        }
    }

    @Override
    public void completeEnded() {
        completeUnawaited();
    }

    @Override
    public void close(Duration patience) {
        synchronized (running) {
            if (!beginClosing()) {
                return;
            }
            running.notifyAll();
        }
        try {
            drain(); // each work in the queue has its own deadline, so this ends
            endOperations(patience);
        } finally {
            // Otherwise a thread is still inside the library: losing memory beats freeing it there.
            if (running.isEmpty()) {
                free();
            }
        }
    }

    private void free() {
        try {
            if (!communicator.abandonsOperations()) {
                carrier.close();
            }
        } finally {
            freeCommunicator();
        }
    }
}
