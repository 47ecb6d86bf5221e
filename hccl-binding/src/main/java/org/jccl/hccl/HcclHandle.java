package org.jccl.hccl;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import org.jccl.FailureContext;
import org.jccl.GroupAbortedException;
import org.jccl.JcclException;
import org.jccl.spi.BoundedCall;
import org.jccl.spi.CleanUp;

/**
 * Lifetime of a native communicator: one thread inside at a time, destroyed exactly once. HCCL has
 * no abort: what a device has begun ends with its peers or when HCCL's execution timeout is over.
 */
final class HcclHandle {

    private static final System.Logger LOG = System.getLogger(HcclHandle.class.getName());

    /** How long the destruction waits for a call that is inside before it begins all the same. */
    static final Duration GRACE = Duration.ofSeconds(1);

    /** How long the destruction may take; HCCL asks to try again while a call is inside. */
    private static final Duration PATIENCE = Duration.ofSeconds(10);

    private static final long RETRY_NANOS = 1_000_000;

    private enum State {
        OPEN,
        ABORTED,
        CLOSED
    }

    private final long communicator;
    private final String name;
    private final int device;
    private final CannRuntime runtime;
    private final Duration grace;
    private final ReentrantLock turns = new ReentrantLock();
    private final HcclCalls calls;
    private final Memory asynchronous = new Memory(Integer.BYTES);
    private boolean asksForErrors;
    private volatile State state = State.OPEN;
    private BoundedCall abort;

    HcclHandle(
            long communicator,
            String name,
            int size,
            int device,
            CannLibraries libraries,
            Duration grace) {
        this.communicator = communicator;
        this.name = name;
        this.device = device;
        this.grace = grace;
        this.runtime = libraries.runtime();
        this.asksForErrors = libraries.has("HcclGetCommAsyncError");
        this.calls = new HcclCalls(this, runtime, communicator, size, libraries.chip());
    }

    /** Lets the calling thread in, alone, until the result is closed. */
    HcclCalls enter(long stream) {
        enter();
        try {
            calls.begin(stream);
            return calls;
        } catch (JcclException e) {
            leave();
            throw e;
        }
    }

    /** Lets the calling thread in, alone, until {@link #leave}. */
    void enter() {
        turns.lock();
        if (state != State.OPEN) {
            turns.unlock();
            throw aborted();
        }
    }

    void leave() {
        turns.unlock();
    }

    /** The native communicator, to make others from it. */
    long address() {
        if (state != State.OPEN) {
            throw aborted();
        }
        return communicator;
    }

    /** What a result of the thread inside means. */
    JcclException failure(int code, String call) {
        return state == State.OPEN ? HcclErrors.of(code, call) : aborted();
    }

    private static GroupAbortedException aborted() {
        return new GroupAbortedException(
                FailureContext.NONE, "the HCCL communicator was aborted or closed");
    }

    /** What HCCL noticed by itself, or null. Safe beside a call. */
    synchronized JcclException asynchronousError() {
        if (state != State.OPEN || !asksForErrors) {
            return null;
        }
        // Some devices' code answers success and writes nothing.
        asynchronous.setInt(0, Hccl.SUCCESS);
        int code = Hccl.HcclGetCommAsyncError(communicator, Pointer.nativeValue(asynchronous));
        if (code != Hccl.SUCCESS) {
            asksForErrors = false;
            LOG.log(
                    System.Logger.Level.WARNING,
                    "group {0}: HCCL can not be asked for errors, so a peer that is lost shows at"
                            + " the deadline only: {1}",
                    name,
                    HcclErrors.of(code, "HcclGetCommAsyncError").reason());
            return null;
        }
        int noticed = asynchronous.getInt(0);
        return noticed == Hccl.SUCCESS ? null : HcclErrors.of(noticed, "asynchronous error");
    }

    /** Destroys it on a thread of its own, since that can block while a device waits for peers. */
    synchronized void abort() {
        if (state == State.OPEN) {
            state = State.ABORTED;
            abort = BoundedCall.start("jccl-hccl-abort-" + name, this::destroy);
        }
    }

    /**
     * Destroys the communicator, or waits for the abort that was begun.
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
                                    "jccl-hccl-close-" + name,
                                    () -> {
                                        synchronizeDevice();
                                        destroy();
                                    },
                                    PATIENCE)
                            : abort == null || abort.await(PATIENCE);
            if (gone) {
                runtime.setDevice(device);
                calls.free();
                asynchronous.close();
                return true;
            }
            LOG.log(
                    System.Logger.Level.WARNING,
                    "group {0}: its HCCL communicator is left behind: an operation still waits for"
                            + " its peers, until HCCL_EXEC_TIMEOUT is over or the process ends",
                    name);
        } catch (JcclException e) {
            LOG.log(System.Logger.Level.WARNING, "group " + name + " did not close well", e);
        }
        return false;
    }

    /** Operations on the callers' own streams have no end event, and HCCL wants them over. */
    private void synchronizeDevice() {
        runtime.setDevice(device);
        CleanUp.run(
                "group " + name,
                () -> CannErrors.check(Acl.aclrtSynchronizeDevice(), "aclrtSynchronizeDevice"));
    }

    /**
     * HCCL asks to try again while it sees a call inside. A thread that has the turn may be on its
     * way there, which only the turn tells.
     */
    private void destroy() {
        boolean alone = false;
        try {
            alone = turns.tryLock(grace.toNanos(), TimeUnit.NANOSECONDS);
            destroyNow();
        } catch (InterruptedException e) {
            throw new IllegalStateException("nobody interrupts this thread", e);
        } finally {
            if (alone) {
                turns.unlock();
            }
        }
    }

    private void destroyNow() {
        // HCCL looks its communicators up by the thread's device.
        runtime.setDevice(device);
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        int code = Hccl.HcclCommDestroy(communicator);
        while (code == HcclErrors.AGAIN && System.nanoTime() - deadline < 0) {
            LockSupport.parkNanos(RETRY_NANOS);
            code = Hccl.HcclCommDestroy(communicator);
        }
        HcclErrors.check(code, "HcclCommDestroy");
    }
}
