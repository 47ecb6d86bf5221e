package org.jccl.internal.host;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jccl.Event;
import org.jccl.FailureContext;
import org.jccl.JcclException;
import org.jccl.WaitTimeoutException;
import org.jccl.Work;
import org.jccl.internal.backend.VirtualThreads;
import org.jccl.internal.engine.FutureThread;
import org.jccl.internal.engine.Timeouts;
import org.jccl.internal.operation.Operation;
import org.jccl.spi.Durations;

/** An operation on a host engine, and the handle the user has of it. */
public final class HostWork extends Operation implements Work {

    private enum State {
        /** In the engine's queue, or being called. */
        QUEUED,
        /** The library works on it; there is a request. */
        STARTED,
        /** One thread waits inside the library for it. */
        CLAIMED,
        DONE
    }

    private volatile State state = State.QUEUED;
    private long request;
    private int sourceRank = -1;
    private JcclException failure;
    private CompletableFuture<Void> future;

    /** What virtual threads wait for: no pool that may be busy comes between it and the work. */
    private CompletableFuture<Void> end;

    /** Whether the thread of futures polls this work. */
    private boolean polled;

    HostWork(HostEngine engine) {
        clear();
        runner = engine;
    }

    private HostEngine engine() {
        return (HostEngine) runner;
    }

    @Override
    public void await() {
        long began = engine().beginWait(this);
        try {
            engine().await(this);
        } finally {
            engine().endWait(this, began);
        }
        throwFailure();
    }

    @Override
    public void await(Duration timeout) {
        long deadline = Timeouts.deadline(timeout);
        long began = engine().beginWait(this);
        boolean done;
        try {
            done = VirtualThreads.isCurrent() ? awaitFuture(deadline) : poll(deadline);
        } finally {
            engine().endWait(this, began);
        }
        if (!done) {
            throw new WaitTimeoutException(
                    context(),
                    "not complete after "
                            + Durations.text(timeout)
                            + "; it continues, wait for it again");
        }
        throwFailure();
    }

    /** Waits on a platform thread; false when the time is over. */
    private boolean poll(long deadline) {
        boolean interrupted = false;
        try {
            while (!isCompleted()) {
                long left = deadline - System.nanoTime();
                if (left <= 0) {
                    return false;
                }
                try {
                    awaitChange(left);
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
            return true;
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private synchronized void awaitChange(long left) throws InterruptedException {
        if (state == State.DONE) {
            return;
        }
        // A request makes no notice of its completion, so it is asked in between.
        long slice = state == State.STARTED ? Math.min(left, 1_000_000) : left;
        wait(slice / 1_000_000, (int) (slice % 1_000_000));
    }

    /** Waits on a virtual thread, which a monitor would pin to its platform thread. */
    private boolean awaitFuture(long deadline) {
        CompletableFuture<Void> ended = end();
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    ended.get(deadline - System.nanoTime(), TimeUnit.NANOSECONDS);
                    return true;
                } catch (ExecutionException e) {
                    throw new IllegalStateException(e); // it does not fail
                } catch (TimeoutException e) {
                    return false;
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    @Override
    public void synchronize() {
        await();
    }

    @Override
    public boolean isCompleted() {
        if (state == State.STARTED) {
            engine().completeIfReady(this);
        }
        return state == State.DONE;
    }

    @Override
    public Optional<JcclException> exception() {
        return state == State.DONE ? Optional.ofNullable(failure) : Optional.empty();
    }

    @Override
    public synchronized CompletableFuture<Void> toFuture() {
        if (future == null) {
            future = new CompletableFuture<>();
            if (state == State.DONE) {
                completeFuture();
            } else if (state != State.QUEUED) {
                pollForFuture();
            }
        }
        return future.copy();
    }

    /**
     * Completes with the work, also when that fails, and on the thread that completes it: nothing
     * but threads that wait may depend on it.
     */
    synchronized CompletableFuture<Void> end() {
        if (end == null) {
            end = new CompletableFuture<>();
            if (state == State.DONE) {
                end.complete(null);
            } else if (state != State.QUEUED) {
                pollForFuture();
            }
        }
        return end;
    }

    @Override
    public Optional<Event> event() {
        throwFailure();
        return Optional.empty();
    }

    @Override
    public int sourceRank() {
        return state == State.DONE ? sourceRank : -1;
    }

    @Override
    public long sequence() {
        return sequence;
    }

    private FailureContext context() {
        return engine().contextOf(this);
    }

    private void throwFailure() {
        if (failure != null) {
            throw failure.forCaller();
        }
    }

    @Override
    public boolean isDone() {
        return state == State.DONE;
    }

    long request() {
        return request;
    }

    /** Notes that the library has it; nothing changes if the work was abandoned before. */
    synchronized void started(long nativeRequest) {
        if (state == State.DONE) {
            return;
        }
        request = nativeRequest;
        state = State.STARTED;
        if (future != null || end != null) {
            pollForFuture();
        }
        notifyAll();
    }

    /** The thread that runs a work without a request completes it; a request must be asked. */
    private void pollForFuture() {
        if (!polled) {
            polled = true;
            engine().futures().begin();
        }
    }

    /** Makes the calling thread the only one that may wait for the request; false if it cannot. */
    synchronized boolean claim() {
        if (state != State.STARTED) {
            return false;
        }
        state = State.CLAIMED;
        return true;
    }

    /** Blocks while another thread must start or complete this work. */
    synchronized void park() {
        State seen = state;
        boolean interrupted = false;
        while (state == seen && (seen == State.QUEUED || seen == State.CLAIMED)) {
            try {
                wait();
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** Ends it; only the first call counts. */
    void complete(int source, JcclException cause) {
        CompletableFuture<Void> listener;
        CompletableFuture<Void> waitedFor;
        boolean wasPolled;
        synchronized (this) {
            if (state == State.DONE) {
                return;
            }
            sourceRank = source;
            failure = cause;
            state = State.DONE;
            notifyAll();
            listener = future;
            waitedFor = end;
            wasPolled = polled;
        }
        if (wasPolled) {
            engine().futures().end();
        }
        if (waitedFor != null) {
            waitedFor.complete(null);
        }
        if (listener != null) {
            FutureThread.complete(this::completeFuture);
        }
    }

    private void completeFuture() {
        if (failure == null) {
            future.complete(null);
        } else {
            future.completeExceptionally(failure);
        }
    }
}
