package org.jccl.internal.host;

import java.util.ArrayDeque;
import org.jccl.FailureContext;
import org.jccl.GroupAbortedException;
import org.jccl.internal.operation.RunningOperations;
import org.jccl.spi.CallLock;
import org.jccl.spi.CleanUp;

/**
 * The asynchronous collectives that were not called yet, in the order of their numbers. The thread
 * that holds the queue lock runs its head: a worker thread, a thread that awaits a work in the
 * queue, or a synchronous caller, which first runs what was queued before it. So there is one order
 * and no thread change that a waiting caller has to pay.
 *
 * <p>Two locks: the queue lock, which is held while the library is called, and the monitor of the
 * running operations, which guards the queue itself, is held for a few instructions only, and is
 * taken inside the queue lock, never around it.
 */
final class CollectiveQueue {

    private final HostEngine engine;
    private final RunningOperations running;
    private final FailureContext context;

    /** Held while a collective is called. */
    private final CallLock lock;

    // Guarded by the monitor of the running operations.
    private final ArrayDeque<HostWork> queue = new ArrayDeque<>();

    /** The work that was taken last; it may not be running yet. */
    private HostWork taken;

    private Thread worker;
    private boolean closed;

    CollectiveQueue(HostEngine engine, RunningOperations running, FailureContext context) {
        this.engine = engine;
        this.running = running;
        this.context = context;
        this.lock = new CallLock(engine.failure::isSet);
    }

    /** Appends a work. The caller has the monitor, and calls {@link #start} next without it. */
    void add(HostWork work) {
        queue.add(work);
    }

    /**
     * Returns a work that was not called yet and uses host memory, or null; see {@link
     * RunningOperations#collision}. The caller has the monitor.
     */
    HostWork collision(long start, long end, boolean writes, int rank, int size) {
        for (HostWork work : queue) {
            if (work.collides(start, end, writes, rank, size)) {
                return work;
            }
        }
        boolean called = taken == null || taken.isDone();
        return !called && taken.collides(start, end, writes, rank, size) ? taken : null;
    }

    /** Whether nothing is queued. The caller has the monitor. */
    boolean isEmpty() {
        return queue.isEmpty();
    }

    /** Waits for the lock; false if the group failed, and another thread may never release it. */
    boolean lock() {
        return lock.lock();
    }

    boolean tryLock() {
        return lock.tryLock();
    }

    void unlock() {
        lock.unlock();
    }

    /**
     * Has the queued works run: on the calling thread as long as none of them blocks, otherwise on
     * the worker.
     *
     * @param startsCollectives whether the library starts collectives without blocking
     */
    void start(boolean startsCollectives) {
        // The holder of the lock may already have seen an empty queue: then the worker is needed.
        if (!startsCollectives || !lock.tryLock()) {
            wakeWorker();
            return;
        }
        try {
            startHeads();
        } finally {
            lock.unlock();
        }
    }

    /** Starts works as long as that does not block. The caller has the lock. */
    private void startHeads() {
        while (true) {
            HostWork head;
            synchronized (running) {
                head = queue.peek();
                if (head == null) {
                    return;
                }
                if (engine.mayBlock(head)) {
                    break;
                }
                taken = queue.remove();
            }
            engine.runQueued(head);
        }
        wakeWorker();
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
            // Otherwise nothing would run the queued works, and they have no deadline.
            engine.fail(new GroupAbortedException(context, "no thread is left for it: " + e, e));
            drain();
        }
    }

    /** The worker waits for works and runs them. */
    private void work() {
        engine.prepareOwnThread();
        while (true) {
            synchronized (running) {
                while (queue.isEmpty()) {
                    if (closed) {
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
                drain();
            } catch (Throwable e) {
                // This thread is the only one that runs works that nobody awaits.
                CleanUp.failed(context.toString(), e);
            }
        }
    }

    /** Runs all queued works, or ends them if the group has failed. */
    void drain() {
        if (!lock.lock()) {
            refuseAll();
            return;
        }
        try {
            HostWork head;
            while ((head = take(Long.MAX_VALUE)) != null) {
                engine.runQueued(head);
            }
        } finally {
            lock.unlock();
        }
    }

    /** Ends all queued works; the group has failed. Needs no lock. */
    void refuseAll() {
        HostWork head;
        while ((head = take(Long.MAX_VALUE)) != null) {
            engine.refuse(head);
        }
    }

    /**
     * Takes the first work, unless it comes after one with a number, or returns null. A caller that
     * runs it has the lock.
     */
    HostWork take(long last) {
        synchronized (running) {
            HostWork head = queue.peek();
            if (head == null || head.sequence > last) {
                return null;
            }
            taken = queue.remove();
            return taken;
        }
    }

    /** Ends the worker when the queue is empty. The caller has the monitor. */
    void close() {
        closed = true;
        running.notifyAll();
    }
}
