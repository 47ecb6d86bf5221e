package org.jccl.internal;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionException;
import org.jccl.FailureContext;
import org.jccl.JcclException;
import org.jccl.PeerLostException;
import org.jccl.Work;
import org.jccl.spi.BoundedCall;
import org.jccl.spi.Communicator;

/**
 * The engine of libraries that work on the calling thread.
 *
 * <p>Collectives go through a queue in the order they were issued. Whoever has the {@link Turn}
 * runs its head: a worker thread, a thread that awaits a work in the queue, or a synchronous
 * caller, which first runs what was queued before it. So there is one order and no thread change
 * that a waiting caller has to pay. Messages are started at once and have no turn.
 */
public final class HostEngine extends Engine {

    private final TensorPlace place;
    private final Staging staging;
    private final StartedCollectives started = new StartedCollectives();
    private final Turn turn = new Turn(running);

    // Guarded by the monitor of the running operations: one lock is faster than three.
    private final ArrayDeque<HostWork> queue = new ArrayDeque<>();
    private Thread worker;

    /** Whether a thread of its own asks why a peer is lost. */
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
    HostEngine(
            Communicator communicator,
            FailureContext context,
            Duration timeout,
            DesyncDetector detector,
            TensorPlace place) {
        super(communicator, context, timeout, detector);
        this.place = place;
        this.staging = new Staging(place.scratch());
    }

    @Override
    public Operation newOperation() {
        return new HostWork(this);
    }

    @Override
    public Work submit(Operation operation) {
        requireKnown(operation);
        return issue(operation);
    }

    private Work issue(Operation operation) {
        HostWork work = (HostWork) operation;
        place.awaitCaller(work, context);
        if (work.kind.isCollective()) {
            enqueue(work);
        } else {
            startMessage(work);
        }
        return work;
    }

    @Override
    public List<Work> submitBatch(List<Operation> operations) {
        requireKnown(operations);
        synchronized (running) {
            requireUsable(operations);
            running.enter();
        }
        try {
            communicator.batchStart();
            List<Work> works = issueAll(operations);
            communicator.batchEnd();
            return works;
        } finally {
            running.leave();
        }
    }

    private List<Work> issueAll(List<Operation> operations) {
        List<Work> works = new ArrayList<>(operations.size());
        try {
            for (Operation operation : operations) {
                works.add(issue(operation));
            }
            return works;
        } catch (RuntimeException | Error e) {
            // What was not issued would hold its tensors for ever.
            operations.subList(works.size(), operations.size()).forEach(Operation::releaseMemory);
            try {
                communicator.batchEnd();
            } catch (RuntimeException | Error again) {
                e.addSuppressed(again);
            }
            throw e;
        }
    }

    private long call(Operation operation, long stream) {
        place.enter();
        return operation.call(communicator, stream);
    }

    private void enqueue(HostWork work) {
        synchronized (running) {
            requireUsable(work);
            if (queue.isEmpty()) {
                turn.block();
            }
            work.sequence = turn.number();
            queue.add(work);
        }
        // Whoever has the turn may already have seen an empty queue, then the worker comes next.
        if (!communicator.startsCollectives() || !turn.tryTake()) {
            wakeWorker();
            return;
        }
        try {
            startQueued();
        } finally {
            turn.leave();
        }
    }

    private void wakeWorker() {
        synchronized (running) {
            if (worker == null) {
                worker = new Thread(this::work, "jccl-" + context.group() + "-" + context.rank());
                worker.setDaemon(true);
                worker.start();
            } else {
                running.notifyAll();
            }
        }
    }

    /** Runs the queue's works as long as that blocks nobody. The caller has the turn. */
    private void startQueued() {
        while (true) {
            HostWork head;
            synchronized (running) {
                head = queue.peek();
                if (head == null) {
                    return;
                }
                if (staging.needs(head) || started.isFull()) {
                    break;
                }
                removeHead();
            }
            runQueued(head);
        }
        wakeWorker();
    }

    /** The worker's life: wait for works, take the turn, run them. */
    private void work() {
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
            turn.take();
            try {
                drain(null);
            } finally {
                turn.leave();
            }
        }
    }

    /** Runs the queue's works, up to and with {@code last}, or all. The caller has the turn. */
    private void drain(HostWork last) {
        while (last == null || !last.isDone()) {
            HostWork head;
            synchronized (running) {
                head = queue.isEmpty() ? null : removeHead();
            }
            if (head == null) {
                return;
            }
            runQueued(head);
        }
    }

    /** The caller has the monitor, and the queue is not empty. */
    private HostWork removeHead() {
        HostWork head = queue.remove();
        if (queue.isEmpty()) {
            turn.unblock();
        }
        return head;
    }

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
            long request =
                    communicator.startsCollectives() && !staging.needs(work)
                            ? call(work, Communicator.NONBLOCKING)
                            : callBlocking(work);
            if (request != 0) {
                started.add(work);
                work.started(request);
                return;
            }
        } catch (Throwable e) {
            cause = notStarted(e, work);
        }
        finish(work, -1, cause);
    }

    private long callBlocking(Operation operation) {
        if (!staging.needs(operation)) {
            return call(operation, Communicator.BLOCKING);
        }
        staging.before(operation);
        long request = call(operation, Communicator.BLOCKING);
        staging.after(operation);
        return request;
    }

    private void startMessage(HostWork work) {
        synchronized (running) {
            // At once: in between, closing would see nothing that runs, and free the communicator.
            requireUsable(work);
            running.begin(work, System.nanoTime());
        }
        try {
            long request = call(work, Communicator.NONBLOCKING);
            if (request != 0) {
                work.started(request);
                return;
            }
            finish(work, work.kind == OperationKind.RECV ? work.peer : -1, null);
        } catch (Throwable e) {
            JcclException cause = failed(e, work);
            finish(work, -1, cause);
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
            if (work.kind.isCollective() && turn.tryTake()) {
                try {
                    drainUpTo(work);
                } finally {
                    turn.leave();
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
        try {
            work.toFuture().join();
        } catch (CompletionException e) {
            // The work has its failure, and throws it to whoever asks.
        }
    }

    private void drainUpTo(HostWork work) {
        synchronized (running) {
            if (!queue.contains(work)) {
                return;
            }
        }
        drain(work);
    }

    /** Ends a work. Closing waits for what runs, so it leaves that list last. */
    private void finish(HostWork work, int source, JcclException cause) {
        work.releaseMemory();
        work.complete(source, cause);
        running.end(work);
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
            source = communicator.await(work.request());
            if (work.kind == OperationKind.BARRIER) {
                running.startedBefore(work).forEach(this::await);
            }
        } catch (Throwable e) {
            boolean lost = e instanceof PeerLostException && !failure.isSet() && detector.asks();
            if (lost && !mayAsk) {
                explaining = true;
                BoundedCall.start("jccl-explain-" + context.group(), () -> explain(e, work));
                return;
            }
            cause = failed(e, work);
        }
        finish(work, source, cause);
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

    private boolean isReady(HostWork work) {
        return communicator.test(work.request())
                && (work.kind != OperationKind.BARRIER
                        || running.startedBefore(work).stream().allMatch(HostWork::isCompleted));
    }

    @Override
    public int run(Operation operation) {
        if (VirtualThreads.isCurrent()) {
            HostWork work = new HostWork(this);
            operation.moveTo(work);
            running.giveBack(operation);
            submit(work).await();
            return work.sourceRank();
        }
        try {
            requireKnown(operation);
            place.awaitCaller(operation, context);
            return operation.kind.isCollective() ? runCollective(operation) : runMessage(operation);
        } finally {
            running.giveBack(operation);
        }
    }

    private int runCollective(Operation operation) {
        boolean alone =
                operation.kind != OperationKind.BARRIER
                        && !failure.isSet()
                        && turn.takeAlone(operation);
        if (!alone) {
            begin(operation);
        }
        try {
            callBlocking(operation);
            if (operation.kind == OperationKind.BARRIER) {
                running.startedBefore(operation).forEach(this::await);
            }
        } catch (Throwable e) {
            throw notStarted(e, operation);
        } finally {
            if (alone) {
                turn.leaveAlone();
            } else {
                end(operation);
            }
            running.letGo(operation);
        }
        return -1;
    }

    /** Takes the turn for a synchronous operation, when what was queued before it has run. */
    private void begin(Operation operation) {
        while (true) {
            synchronized (running) {
                turn.take();
                if (queue.isEmpty() && isUsable()) {
                    operation.sequence = turn.number();
                    running.beginSynchronous(operation);
                    return;
                }
            }
            try {
                requireUsable(operation);
                drain(null);
            } finally {
                turn.leave();
            }
        }
    }

    private void end(Operation operation) {
        synchronized (running) {
            running.remove(operation);
            turn.leave();
        }
    }

    private int runMessage(Operation operation) {
        boolean alone;
        synchronized (running) {
            requireUsable(operation);
            alone = running.beginMessage(operation);
        }
        try {
            if (operation.kind == OperationKind.RECV) {
                long request = call(operation, Communicator.NONBLOCKING);
                return request == 0 ? operation.peer : communicator.await(request);
            }
            call(operation, Communicator.BLOCKING);
            return -1;
        } catch (Throwable e) {
            throw failed(e, operation);
        } finally {
            running.endMessage(operation, alone);
        }
    }

    @Override
    void onFailure() {
        synchronized (running) {
            // The worker completes what still waits.
            running.notifyAll();
        }
    }

    @Override
    void completeUnawaited() {
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
    void completeEnded() {
        completeUnawaited();
    }

    @Override
    public void close(Duration patience) {
        synchronized (running) {
            if (!beginClosing()) {
                return;
            }
            turn.block(); // for good
            running.notifyAll();
        }
        try {
            drainQueue();
            endOperations(patience);
        } finally {
            // Otherwise a thread is still inside the library: losing memory beats freeing it there.
            if (running.isEmpty()) {
                free();
            }
        }
    }

    /** Each work in the queue has its own deadline, so this ends. */
    private void drainQueue() {
        turn.take();
        try {
            drain(null);
        } finally {
            turn.leave();
        }
    }

    private void free() {
        try {
            if (!communicator.abandonsOperations()) {
                staging.close();
            }
        } finally {
            freeCommunicator();
        }
    }
}
