package org.jccl.hccl;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import org.jccl.JcclException;
import org.jccl.spi.CleanUp;
import org.jccl.spi.CommunicatorHandle;

/**
 * Lifetime of an HcclComm. HCCL has no abort: what a device has begun ends with its peers or when
 * HCCL's execution timeout is over.
 */
final class HcclHandle extends CommunicatorHandle {

    private static final System.Logger LOG = System.getLogger(HcclHandle.class.getName());

    /** How long the destruction waits for a call that is inside before it begins all the same. */
    static final Duration GRACE = Duration.ofSeconds(1);

    /** How long the destruction may take; HCCL asks to try again while a call is inside. */
    private static final Duration PATIENCE = Duration.ofSeconds(10);

    private static final long RETRY_NANOS = 1_000_000;

    private final long communicator;
    private final int device;
    private final CannRuntime runtime;
    private final AclLifetime lifetime;
    private final Duration grace;
    private final HcclCalls calls;
    private final Memory asynchronous = new Memory(Integer.BYTES);
    private boolean asksForErrors;

    HcclHandle(
            long communicator,
            String name,
            int size,
            int device,
            HcclLibraries libraries,
            Duration grace) {
        super("HCCL", name, PATIENCE);
        this.communicator = communicator;
        this.device = device;
        this.grace = grace;
        this.runtime = libraries.runtime();
        this.lifetime = libraries.lifetime();
        lifetime.hold();
        this.asksForErrors = libraries.has("HcclGetCommAsyncError");
        this.calls = new HcclCalls(this, runtime, communicator, size, libraries.chip());
    }

    /** Lets the calling thread in, alone, until the result is closed. */
    HcclCalls enter(long stream) {
        enter();
        calls.begin(stream);
        return calls;
    }

    /** Lets the calling thread in, alone, until {@link #leave}. */
    void enter() {
        takeTurn();
    }

    /** The native communicator, to make others from it. */
    long address() {
        if (!isOpen()) {
            throw aborted();
        }
        return communicator;
    }

    /** What a result of the thread inside means. */
    JcclException failure(int code, String call) {
        return isOpen() ? HcclErrors.of(code, call) : aborted();
    }

    /** What HCCL noticed by itself, or null. Safe beside a call. */
    synchronized JcclException asynchronousError() {
        if (!isOpen() || !asksForErrors) {
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
                    group(),
                    HcclErrors.of(code, "HcclGetCommAsyncError").reason());
            return null;
        }
        int noticed = asynchronous.getInt(0);
        return noticed == Hccl.SUCCESS ? null : HcclErrors.of(noticed, "asynchronous error");
    }

    @Override
    protected void endInOrder() {
        synchronizeDevice();
        endNow();
    }

    @Override
    protected void free() {
        runtime.setDevice(device);
        calls.free();
        asynchronous.close();
    }

    @Override
    protected String leftBehind(boolean inOrder) {
        return "is left behind: an operation still waits for its peers, until HCCL_EXEC_TIMEOUT is"
                + " over or the process ends";
    }

    /** Operations on the callers' own streams have no end event, and HCCL wants them over. */
    private void synchronizeDevice() {
        runtime.setDevice(device);
        CleanUp.run(
                "group " + group(),
                () -> CannErrors.check(Acl.aclrtSynchronizeDevice(), "aclrtSynchronizeDevice"));
    }

    /**
     * Destroys it, which can block while a device waits for peers. HCCL asks to try again while it
     * sees a call inside; a thread that has the turn may be on its way there, which only the turn
     * tells.
     */
    @Override
    protected void endNow() {
        boolean alone = tryTurn(grace);
        try {
            destroyNow();
        } finally {
            if (alone) {
                leave();
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
        lifetime.release();
    }
}
