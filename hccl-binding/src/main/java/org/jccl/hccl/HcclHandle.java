package org.jccl.hccl;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;
import java.time.Duration;
import org.jccl.JcclException;
import org.jccl.spi.BoundedCall;
import org.jccl.spi.CleanUp;
import org.jccl.spi.Polling;
import org.jccl.spi.support.CommunicatorHandle;

/**
 * Lifetime of an {@code HcclComm}. HCCL has no abort: an operation that a device has begun ends
 * when its peers arrive, or after HCCL's execution timeout.
 */
final class HcclHandle extends CommunicatorHandle {

    private static final System.Logger LOGGER = System.getLogger(HcclHandle.class.getName());

    /** The time that the destruction waits for a call inside the library before it starts. */
    static final Duration GRACE = Duration.ofSeconds(1);

    /** The limit of the destruction. HCCL requests a retry while a call is inside. */
    private static final Duration DESTROY_TIMEOUT = Duration.ofSeconds(10);

    private static final Duration RETRY = Duration.ofMillis(1);

    /** How long the last operations may take when the process ends. */
    private static final Duration EXIT_GRACE = Duration.ofSeconds(3);

    private final long communicator;
    private final int device;
    private final CannRuntime runtime;
    private final AclLifetime lifetime;
    private final Duration grace;
    private final HcclCalls calls;
    private final Runnable atExit = this::destroyAtExit;
    private final Memory asynchronous = new Memory(Integer.BYTES);
    private boolean asksForErrors = true;

    HcclHandle(
            long communicator,
            String name,
            int size,
            int device,
            HcclLibraries libraries,
            Duration grace) {
        super("HCCL", name, DESTROY_TIMEOUT);
        this.communicator = communicator;
        this.device = device;
        this.grace = grace;
        this.runtime = libraries.runtime();
        this.lifetime = libraries.lifetime();
        lifetime.hold(atExit);
        this.calls = new HcclCalls(this, runtime, communicator, size, libraries.chip());
    }

    /** Admits the calling thread, alone, until the result is closed. */
    HcclCalls enter(long stream) {
        enter();
        calls.begin(stream);
        return calls;
    }

    /** Admits the calling thread, alone, until {@link #leave}. */
    void enter() {
        acquire();
    }

    /** The native communicator, from which others are made. */
    long address() {
        if (!isOpen()) {
            throw aborted();
        }
        return communicator;
    }

    /** The exception for a failed call of the thread that was admitted. */
    JcclException failure(int code, String call) {
        return isOpen() ? HcclErrors.of(code, call) : aborted();
    }

    /** The error that HCCL detected asynchronously, or null. Safe during a call. */
    JcclException asynchronousError() {
        return ask(this::noticed).orElse(null);
    }

    private JcclException noticed() {
        if (!asksForErrors) {
            return null;
        }
        // The code for some devices returns success and writes nothing.
        asynchronous.setInt(0, Hccl.SUCCESS);
        int code = Hccl.HcclGetCommAsyncError(communicator, Pointer.nativeValue(asynchronous));
        if (code != Hccl.SUCCESS) {
            asksForErrors = false;
            LOGGER.log(
                    System.Logger.Level.WARNING,
                    "group {0}: HCCL reports no asynchronous errors, so a lost peer is noticed"
                            + " only at the deadline: {1}",
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
        return "was not freed: an operation still waits for its peers, until HCCL_EXEC_TIMEOUT or"
                + " the end of the process";
    }

    /**
     * Waits for operations on callers' streams: HCCL requires their end, and they have no event.
     */
    private void synchronizeDevice() {
        runtime.setDevice(device);
        CleanUp.run(
                "group " + group(),
                () -> CannErrors.check(Acl.aclrtSynchronizeDevice(), "aclrtSynchronizeDevice"));
    }

    /**
     * {@inheritDoc}
     *
     * <p>The destruction can block while a device waits for peers. HCCL asks to try again while a
     * call is inside. A thread that was admitted may be about to call HCCL, so the destruction
     * waits for it during the grace period.
     */
    @Override
    protected void endNow() {
        boolean alone = tryAcquire(grace);
        try {
            destroyNow();
        } finally {
            if (alone) {
                leave();
            }
        }
    }

    private void destroyNow() {
        // HCCL finds its communicators by the device of the thread.
        runtime.setDevice(device);
        long deadline = System.nanoTime() + DESTROY_TIMEOUT.toNanos();
        int code = Hccl.HcclCommDestroy(communicator);
        while (code == HcclErrors.AGAIN && System.nanoTime() - deadline < 0) {
            Polling.sleep(RETRY);
            code = Hccl.HcclCommDestroy(communicator);
        }
        HcclErrors.check(code, "HcclCommDestroy");
        lifetime.release(atExit);
    }

    /** Destroys it while the process ends; its last operations have a moment to complete. */
    private void destroyAtExit() {
        CleanUp.run(
                "group " + group(),
                () ->
                        BoundedCall.run(
                                "jccl-hccl-last-operations", this::synchronizeDevice, EXIT_GRACE));
        abort();
        awaitAbort();
    }
}
