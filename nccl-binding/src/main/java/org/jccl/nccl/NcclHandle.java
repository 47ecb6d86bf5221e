package org.jccl.nccl;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import org.bytedeco.cuda.global.nccl;
import org.bytedeco.cuda.nccl.ncclComm;
import org.bytedeco.javacpp.IntPointer;
import org.jccl.FailureContext;
import org.jccl.GroupAbortedException;
import org.jccl.JcclException;
import org.jccl.OperationTimeoutException;
import org.jccl.spi.BoundedCall;
import org.jccl.spi.CleanUp;
import org.jccl.spi.Durations;

/**
 * Lifetime of a native communicator: one thread inside at a time, ended exactly once, by an abort
 * or in good order.
 */
final class NcclHandle {

    private static final System.Logger LOG = System.getLogger(NcclHandle.class.getName());

    /** How long an abort waits for a call that is inside, before it aborts that too. */
    private static final long GRACE_MILLIS = 1000;

    private static final Duration ABORT_PATIENCE = Duration.ofSeconds(10);

    /**
     * How long the peers may take to close too. This rank's operations are done then, and a peer
     * that failed never comes.
     */
    private static final Duration CLOSE_PATIENCE = Duration.ofSeconds(10);

    private static final long POLL_NANOS = 20_000;

    private enum State {
        OPEN,
        ABORTED,
        CLOSED
    }

    private final ncclComm communicator;
    private final String name;
    private final int device;
    private final Duration timeout;

    private final ReentrantLock turns = new ReentrantLock();
    private final NcclCalls calls;
    private final IntPointer settling = new IntPointer(1);
    private final IntPointer asynchronous = new IntPointer(1);
    private volatile State state = State.OPEN;
    private BoundedCall abort;

    /** Why the binding aborted it by itself, or null. */
    private JcclException reason;

    NcclHandle(ncclComm communicator, String name, int device, Duration timeout) {
        this.communicator = communicator;
        this.name = name;
        this.device = device;
        this.timeout = timeout;
        this.calls = new NcclCalls(this, communicator);
    }

    /** Lets the calling thread in, alone, until the result is closed. */
    NcclCalls enter() {
        turns.lock();
        if (state != State.OPEN) {
            turns.unlock();
            throw aborted();
        }
        return calls;
    }

    /** The calls of the thread that is inside. */
    NcclCalls inside() {
        return calls;
    }

    void leave() {
        turns.unlock();
    }

    /** Whether the calling thread is inside. */
    boolean holds() {
        return turns.isHeldByCurrentThread();
    }

    /**
     * Throws what a result means, unless it is that a non-blocking call still goes on. That is
     * waited for: an event recorded before would not cover what the call enqueues.
     */
    void settle(int code, String call) {
        long deadline = System.nanoTime() + timeout.toNanos();
        int settled = code;
        while (settled == nccl.ncclInProgress && state == State.OPEN) {
            if (System.nanoTime() - deadline > 0) {
                throw new OperationTimeoutException(
                        FailureContext.NONE,
                        call + " was not enqueued in " + Durations.text(timeout));
            }
            Thread.onSpinWait();
            int asked = nccl.ncclCommGetAsyncError(communicator, settling);
            settled = asked == nccl.ncclSuccess ? settling.get() : asked;
        }
        if (state != State.OPEN) {
            throw aborted();
        }
        if (settled != nccl.ncclSuccess) {
            throw NcclErrors.of(settled, call, communicator);
        }
    }

    String name() {
        return name;
    }

    int device() {
        return device;
    }

    Duration timeout() {
        return timeout;
    }

    private static GroupAbortedException aborted() {
        return new GroupAbortedException(
                FailureContext.NONE, "the NCCL communicator was aborted or closed");
    }

    /** What NCCL, or a call that was given up, noticed by itself, or null. Safe beside a call. */
    synchronized JcclException asynchronousError() {
        if (state != State.OPEN) {
            return reason;
        }
        int code = nccl.ncclCommGetAsyncError(communicator, asynchronous);
        int noticed = code == nccl.ncclSuccess ? asynchronous.get() : code;
        return noticed == nccl.ncclSuccess || noticed == nccl.ncclInProgress
                ? null
                : NcclErrors.of(noticed, "asynchronous error", communicator);
    }

    /**
     * Ends everything on its own thread: NCCL's abort waits for the device, and when several groups
     * fail, one must not wait behind another.
     */
    synchronized void abort() {
        if (state == State.OPEN) {
            state = State.ABORTED;
            abort = BoundedCall.start("jccl-nccl-abort-" + name, this::abortNow);
        }
    }

    /** The same for a reason that the group does not know yet, which is what it answers. */
    synchronized JcclException abort(JcclException why) {
        if (state == State.OPEN) {
            // First: what the abort lets go of must not pass for a result.
            reason = why;
            abort();
        }
        return why;
    }

    private void abortNow() {
        boolean alone = turns.tryLock();
        try {
            if (!alone) {
                // Freeing it under the thread that is inside is not safe: that one must leave.
                revoke();
                alone = turns.tryLock(GRACE_MILLIS, TimeUnit.MILLISECONDS);
            }
            // Without its device too: nothing else ends what waits in there.
            CleanUp.run("group " + name, () -> CudaRuntime.enter(device));
            abortCommunicator();
        } catch (InterruptedException e) {
            throw new IllegalStateException("nobody interrupts this thread", e);
        } finally {
            if (alone) {
                turns.unlock();
            }
        }
    }

    /**
     * Stops what runs without freeing anything; an abort must follow, since a revoked communicator
     * can not be finalised. NCCL has it since 2.28.7; before, only the abort itself stops a call.
     */
    private void revoke() {
        if (!NcclLibraries.has("ncclCommRevoke")) {
            return;
        }
        int code = nccl.ncclCommRevoke(communicator, nccl.NCCL_REVOKE_DEFAULT);
        if (code != nccl.ncclSuccess && code != nccl.ncclInProgress) {
            // The abort that follows does more.
            CleanUp.failed("group " + name, NcclErrors.of(code, "ncclCommRevoke", communicator));
        }
    }

    private void abortCommunicator() {
        CleanUp.run(
                "group " + name,
                () -> NcclErrors.check(nccl.ncclCommAbort(communicator), "ncclCommAbort"));
    }

    /**
     * Ends the communicator, with all peers, or waits for the abort that was begun.
     *
     * @return true when it is gone; otherwise it was left behind
     */
    boolean close() {
        boolean inOrder;
        synchronized (this) {
            inOrder = state == State.OPEN;
            if (inOrder) {
                state = State.CLOSED;
            }
        }
        try {
            boolean gone =
                    inOrder
                            ? BoundedCall.run(
                                    "jccl-nccl-close-" + name, this::destroy, CLOSE_PATIENCE)
                            : abort == null || abort.await(ABORT_PATIENCE);
            if (gone) {
                calls.free();
                settling.close();
                asynchronous.close();
                return true;
            }
            if (inOrder) {
                BoundedCall.start("jccl-nccl-abort-" + name, this::abortNow);
            }
            LOG.log(
                    System.Logger.Level.WARNING,
                    "group {0}: its NCCL communicator did not end in good order: another rank did"
                            + " not close it, or a CUDA graph that captured its operations still"
                            + " exists",
                    name);
        } catch (JcclException e) {
            LOG.log(System.Logger.Level.WARNING, "group " + name + " did not close well", e);
        }
        return false;
    }

    private void destroy() {
        turns.lock();
        try {
            finalizeAndDestroy();
        } finally {
            turns.unlock();
        }
    }

    private void finalizeAndDestroy() {
        CudaRuntime.enter(device);
        int code = nccl.ncclCommFinalize(communicator);
        long deadline = System.nanoTime() + CLOSE_PATIENCE.toNanos();
        while (code == nccl.ncclInProgress && System.nanoTime() - deadline < 0) {
            LockSupport.parkNanos(POLL_NANOS);
            code = nccl.ncclCommGetAsyncError(communicator, settling);
            code = code == nccl.ncclSuccess ? settling.get() : code;
        }
        if (code != nccl.ncclSuccess) {
            JcclException failure = NcclErrors.of(code, "ncclCommFinalize", communicator);
            abortCommunicator();
            throw failure;
        }
        NcclErrors.check(nccl.ncclCommDestroy(communicator), "ncclCommDestroy");
    }
}
