package org.jccl.nccl;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jccl.FailureContext;
import org.jccl.GroupAbortedException;
import org.jccl.JcclException;
import org.jccl.OperationTimeoutException;
import org.jccl.spi.CleanUp;
import org.jccl.spi.Durations;
import org.jccl.spi.Polling;
import org.jccl.spi.support.CommunicatorHandle;

/**
 * Manages the lifetime of an ncclComm, whose calls may continue after they have returned.
 *
 * <p>NCCL frees a communicator without looking at threads that are inside it, nor, after a revoke,
 * at CUDA graphs that captured its operations. So a communicator that such a thread or graph may
 * still use is abandoned: its memory remains until the thread or graph has ended, or until the
 * process ends.
 */
final class NcclHandle extends CommunicatorHandle {

    /**
     * How long an abort waits for a thread inside NCCL, if the library cannot revoke. Only the
     * abort ends that thread's call and the running device work.
     */
    private static final Duration GRACE = Duration.ofSeconds(1);

    /**
     * The time that a close waits for the end. This rank's operations are complete then, and a
     * failed peer never arrives.
     */
    private static final Duration PATIENCE = Duration.ofSeconds(10);

    /**
     * The id of a registration whose call failed, and that only the end of the communicator ends.
     */
    static final long UNKNOWN = -1;

    /** An operation is enqueued within these; forming a communicator takes longer. */
    private static final int SPINS = 1000;

    /** For an end that may take as long as the process. */
    private static final Duration SLOW_POLL = Duration.ofMillis(1);

    private final long communicator;
    private final NcclConfig config;
    private final int device;
    private final Duration timeout;
    private final boolean blocking;
    private final NcclCalls calls;

    /** Opened when the communicator no longer exists. */
    private final CountDownLatch ended = new CountDownLatch(1);

    /** Whether a CUDA graph captured an operation. */
    private volatile boolean captured;

    /**
     * Takes ownership of a communicator.
     *
     * @param communicator initialised
     * @param config the configuration from which it was formed; freed after it
     * @param name of its group
     * @param device it is on
     * @param timeout of one operation
     * @param blocking whether its calls complete before they return
     */
    NcclHandle(
            long communicator,
            NcclConfig config,
            String name,
            int device,
            Duration timeout,
            boolean blocking) {
        super("NCCL", name, PATIENCE);
        this.communicator = communicator;
        this.config = config;
        this.device = device;
        this.timeout = timeout;
        this.blocking = blocking;
        this.calls = new NcclCalls(this, communicator);
    }

    /** Lets the calling thread in, alone, until the result is closed. */
    NcclCalls enter() {
        acquire();
        return calls;
    }

    /** The same, for an operation on a stream. */
    NcclCalls enter(long stream) {
        NcclCalls entered = enter();
        if (!captured) {
            try {
                captured = calls.isCapturing(stream);
            } catch (JcclException e) {
                leave();
                throw e;
            }
        }
        return entered;
    }

    int device() {
        return device;
    }

    Duration timeout() {
        return timeout;
    }

    /**
     * Deregisters memory, or waits for the end of the communicator, which ends its registrations.
     *
     * @return false if NCCL may still use the memory
     */
    boolean deregister(boolean window, long id) {
        if (id == UNKNOWN) {
            return hasEnded();
        }
        try (NcclCalls entered = enter()) {
            entered.deregister(window, id);
            return true;
        } catch (GroupAbortedException e) {
            return hasEnded();
        } catch (JcclException e) {
            CleanUp.log("group " + group(), e);
            return hasEnded();
        }
    }

    private boolean hasEnded() {
        try {
            return ended.await(PATIENCE.toNanos(), TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    private void noteEnd() {
        NcclRegistrations.forget(this);
        ended.countDown();
    }

    /** The calls of the thread that is inside. */
    NcclCalls inside() {
        return calls;
    }

    /**
     * Throws the exception for a failure. If a non-blocking call is in progress, waits for it: an
     * event recorded before its end would not cover the commands that it enqueues.
     */
    void settle(int code, String call) {
        long deadline = System.nanoTime() + timeout.toNanos();
        int settled = code;
        for (long polls = 0; settled == NcclNative.IN_PROGRESS && isOpen(); polls++) {
            if (System.nanoTime() - deadline > 0) {
                throw new OperationTimeoutException(
                        FailureContext.NONE,
                        call + " was not enqueued in " + Durations.text(timeout));
            }
            Polling.pause(polls, SPINS);
            settled = state();
        }
        if (!isOpen()) {
            throw aborted();
        }
        if (settled != NcclNative.SUCCESS) {
            throw NcclErrors.of(settled, call, communicator);
        }
    }

    /**
     * The communicator's state. If the communicator does not block, the first success after a job
     * also frees that job, as every other call does. Therefore only the thread inside may ask.
     */
    private int state() {
        return NcclNative.commAsyncError(communicator);
    }

    /**
     * Returns the error that NCCL, or a call that was given up, reported without a call, or null. A
     * communicator that does not block is not asked while another thread is inside.
     */
    JcclException asynchronousError() {
        return ask(this::noticed).or(this::reason).orElse(null);
    }

    private JcclException noticed() {
        if (blocking) {
            return failure(state());
        }
        if (!tryAcquire(Duration.ZERO)) {
            return null;
        }
        try {
            return failure(state());
        } finally {
            leave();
        }
    }

    private JcclException failure(int state) {
        return state == NcclNative.SUCCESS || state == NcclNative.IN_PROGRESS
                ? null
                : NcclErrors.of(state, "asynchronous error", communicator);
    }

    /** Aborts a communicator in which a split does not end; returns the first reason. */
    JcclException giveUp(JcclException why) {
        if (!isOpen()) {
            return aborted();
        }
        abort(why);
        return why;
    }

    /**
     * NCCL's abort waits for the device. So if several groups fail, no group's abort may wait for
     * another's.
     */
    @Override
    protected void endNow() {
        boolean alone = tryAcquire(Duration.ZERO) || waitAlone();
        try {
            // The abort must run even without its device, because nothing else ends pending
            // operations.
            CleanUp.run("group " + group(), () -> CudaRuntime.enter(device));
            abortCommunicator();
        } finally {
            if (alone) {
                leave();
            }
        }
    }

    /**
     * Makes the thread that is inside leave. This may take until the process ends; the communicator
     * is then abandoned, and its operations have ended.
     *
     * @return whether the calling thread is inside now
     */
    private boolean waitAlone() {
        if (!blocking) {
            // The thread inside only waits for a job, and leaves when it sees the abort.
            acquireAlways();
            return true;
        }
        if (!NcclNative.has("ncclCommRevoke")) {
            return tryAcquire(GRACE);
        }
        revoke();
        if (captured) {
            throw new GroupAbortedException(
                    FailureContext.NONE,
                    "the NCCL communicator was not freed: CUDA graphs may still use it");
        }
        acquireAlways();
        return true;
    }

    /**
     * Stops all operations without freeing the communicator, which can then only be aborted. The
     * call may hang, but the operations stop before that.
     */
    private void revoke() {
        int code = NcclNative.commRevoke(communicator);
        if (code != NcclNative.SUCCESS && code != NcclNative.IN_PROGRESS) {
            // The abort that follows does more.
            CleanUp.log("group " + group(), NcclErrors.of(code, "ncclCommRevoke", communicator));
        }
    }

    private void abortCommunicator() {
        CleanUp.run(
                "group " + group(),
                () -> {
                    NcclErrors.check(NcclNative.commAbort(communicator), "ncclCommAbort");
                    noteEnd();
                });
    }

    @Override
    protected void free() {
        calls.free();
        config.close();
    }

    @Override
    protected String leftBehind(boolean inOrder) {
        String reason =
                inOrder
                        ? "a CUDA graph that captured its operations still exists (destroy it"
                                + " before you close the group), or another rank did not close the"
                                + " group"
                        : "a thread is still inside NCCL, or a CUDA graph that captured its"
                                + " operations still exists";
        return "was not freed within "
                + Durations.text(PATIENCE)
                + ": "
                + reason
                + "; its memory stays allocated until then, or until the process ends";
    }

    @Override
    protected void endInOrder() {
        acquireAlways();
        try {
            finalizeAndDestroy();
        } finally {
            leave();
        }
    }

    private void finalizeAndDestroy() {
        CudaRuntime.enter(device);
        NcclRegistrations.deregisterAll(this);
        int code = NcclNative.commFinalize(communicator);
        // Has no deadline, since an abort of what is being finalised may free it under a graph.
        while (code == NcclNative.IN_PROGRESS) {
            Polling.sleep(SLOW_POLL);
            code = state();
        }
        if (code != NcclNative.SUCCESS) {
            JcclException failure = NcclErrors.of(code, "ncclCommFinalize", communicator);
            abortCommunicator();
            throw failure;
        }
        NcclErrors.check(NcclNative.commDestroy(communicator), "ncclCommDestroy");
        noteEnd();
    }
}
