package org.jccl.nccl;

import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import org.bytedeco.cuda.global.nccl;
import org.bytedeco.cuda.nccl.ncclComm;
import org.bytedeco.javacpp.IntPointer;
import org.jccl.FailureContext;
import org.jccl.JcclException;
import org.jccl.OperationTimeoutException;
import org.jccl.spi.CleanUp;
import org.jccl.spi.CommunicatorHandle;
import org.jccl.spi.Durations;

/** Lifetime of an ncclComm, whose calls may go on after they came back. */
final class NcclHandle extends CommunicatorHandle {

    /** How long an abort waits for a call that is inside, before it aborts that too. */
    private static final Duration GRACE = Duration.ofSeconds(1);

    /**
     * How long the peers may take to close too. This rank's operations are done then, and a peer
     * that failed never comes.
     */
    private static final Duration PATIENCE = Duration.ofSeconds(10);

    /** An operation is enqueued within these; forming a communicator takes longer. */
    private static final int SPINS = 1000;

    private static final long POLL_NANOS = 20_000;

    private final ncclComm communicator;
    private final int device;
    private final Duration timeout;

    private final NcclCalls calls;
    private final IntPointer settling = new IntPointer(1);
    private final IntPointer asynchronous = new IntPointer(1);

    /** Why the binding aborted it by itself, or null. */
    private JcclException reason;

    NcclHandle(ncclComm communicator, String name, int device, Duration timeout) {
        super("NCCL", name, PATIENCE);
        this.communicator = communicator;
        this.device = device;
        this.timeout = timeout;
        this.calls = new NcclCalls(this, communicator);
    }

    /** Lets the calling thread in, alone, until the result is closed. */
    NcclCalls enter() {
        takeTurn();
        return calls;
    }

    /** The calls of the thread that is inside. */
    NcclCalls inside() {
        return calls;
    }

    /**
     * Throws what a result means, unless it is that a non-blocking call still goes on. That is
     * waited for: an event recorded before would not cover what the call enqueues.
     */
    void settle(int code, String call) {
        long deadline = System.nanoTime() + timeout.toNanos();
        int settled = code;
        for (int polls = 0; settled == nccl.ncclInProgress && isOpen(); polls++) {
            if (System.nanoTime() - deadline > 0) {
                throw new OperationTimeoutException(
                        FailureContext.NONE,
                        call + " was not enqueued in " + Durations.text(timeout));
            }
            if (polls < SPINS) {
                Thread.onSpinWait();
            } else {
                LockSupport.parkNanos(POLL_NANOS);
            }
            int asked = nccl.ncclCommGetAsyncError(communicator, settling);
            settled = asked == nccl.ncclSuccess ? settling.get() : asked;
        }
        if (!isOpen()) {
            throw aborted();
        }
        if (settled != nccl.ncclSuccess) {
            throw NcclErrors.of(settled, call, communicator);
        }
    }

    int device() {
        return device;
    }

    Duration timeout() {
        return timeout;
    }

    /** What NCCL, or a call that was given up, noticed by itself, or null. Safe beside a call. */
    synchronized JcclException asynchronousError() {
        if (!isOpen()) {
            return reason;
        }
        int code = nccl.ncclCommGetAsyncError(communicator, asynchronous);
        int noticed = code == nccl.ncclSuccess ? asynchronous.get() : code;
        return noticed == nccl.ncclSuccess || noticed == nccl.ncclInProgress
                ? null
                : NcclErrors.of(noticed, "asynchronous error", communicator);
    }

    /** An abort for a reason that the group does not know yet, which is what it answers. */
    synchronized JcclException abort(JcclException why) {
        if (isOpen()) {
            // First: what the abort lets go of must not pass for a result.
            reason = why;
            abort();
        }
        return why;
    }

    /**
     * NCCL's abort waits for the device, so when several groups fail none must wait behind another.
     */
    @Override
    protected void endNow() {
        boolean alone = tryTurn(Duration.ZERO);
        try {
            if (!alone) {
                // Freeing it under the thread that is inside is not safe: that one must leave.
                revoke();
                alone = tryTurn(GRACE);
            }
            // Without its device too: nothing else ends what waits in there.
            CleanUp.run("group " + group(), () -> CudaRuntime.enter(device));
            abortCommunicator();
        } finally {
            if (alone) {
                leave();
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
            CleanUp.failed("group " + group(), NcclErrors.of(code, "ncclCommRevoke", communicator));
        }
    }

    private void abortCommunicator() {
        CleanUp.run(
                "group " + group(),
                () -> NcclErrors.check(nccl.ncclCommAbort(communicator), "ncclCommAbort"));
    }

    @Override
    protected void free() {
        calls.free();
        settling.close();
        asynchronous.close();
    }

    @Override
    protected String leftBehind(boolean inOrder) {
        if (inOrder) {
            startAbort();
        }
        return "did not end in good order: another rank did not close it, or a CUDA graph that"
                + " captured its operations still exists";
    }

    @Override
    protected void endInOrder() {
        awaitTurn();
        try {
            finalizeAndDestroy();
        } finally {
            leave();
        }
    }

    private void finalizeAndDestroy() {
        CudaRuntime.enter(device);
        int code = nccl.ncclCommFinalize(communicator);
        long deadline = System.nanoTime() + PATIENCE.toNanos();
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
