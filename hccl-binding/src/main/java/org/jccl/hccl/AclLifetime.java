package org.jccl.hccl;

import java.time.Duration;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.TimeUnit;
import java.util.function.IntSupplier;
import org.jccl.FailureContext;
import org.jccl.UsageException;
import org.jccl.spi.BoundedCall;
import org.jccl.spi.CleanUp;

/**
 * Ends ACL when the JVM ends. A shutdown hook destroys the communicators that are open, because
 * HCCL does so in a static destructor after it has destroyed what they need, and the process
 * crashes. CANN's manual requires {@code aclFinalize} before a process ends, not in a destructor,
 * and after all communicators, streams and device memory are gone. The hook calls it if nothing is
 * open; otherwise a thread may still use ACL. Thread-safe.
 */
final class AclLifetime {

    private static final System.Logger LOGGER = System.getLogger(AclLifetime.class.getName());

    /** ACL waits up to 2 seconds for logs of devices. */
    private static final Duration LIMIT = Duration.ofSeconds(5);

    /**
     * How long finalisation waits for closed tensors: another thread frees their memory a moment
     * later.
     */
    private static final Duration FREEING_LIMIT = Duration.ofSeconds(1);

    /** How long all open communicators together may take. */
    private static final Duration DESTROY_LIMIT = Duration.ofSeconds(8);

    /** What destroys each open communicator, the newest first. */
    private final Deque<Runnable> communicators = new ConcurrentLinkedDeque<>();

    private int held;
    private boolean ended;

    /**
     * Counts a communicator, stream or block of device memory before it is made.
     *
     * @throws UsageException if ACL was ended
     */
    synchronized void hold() {
        if (ended) {
            throw new UsageException(
                    FailureContext.NONE,
                    "the JVM is shutting down and has finalised ACL, because no group, tensor or"
                            + " stream was open; close the last one after the last use of a device");
        }
        held++;
    }

    /** Counts a communicator, as {@link #hold()}, which is destroyed if it is open at the end. */
    void hold(Runnable destroy) {
        hold();
        communicators.addFirst(destroy);
    }

    /** Uncounts a communicator that is gone. */
    void release(Runnable destroy) {
        communicators.remove(destroy);
        release();
    }

    /** Uncounts one that is gone or was not made. */
    synchronized void release() {
        held--;
        notifyAll();
    }

    /**
     * Ends ACL by a shutdown hook.
     *
     * @param finalization the call of ACL, which returns its code
     * @param name of the call, for messages
     */
    void endWithTheJvm(IntSupplier finalization, String name) {
        try {
            Runtime.getRuntime()
                    .addShutdownHook(new Thread(() -> end(finalization, name), "jccl-hccl-exit"));
        } catch (IllegalStateException e) {
            LOGGER.log(System.Logger.Level.DEBUG, name + " is not called: the JVM is ending", e);
        }
    }

    /** Destroys communicators, then ends ACL if nothing is open, or is only about to be freed. */
    void end(IntSupplier finalization, String name) {
        destroyCommunicators();
        synchronized (this) {
            awaitFreeing();
            if (held > 0) {
                LOGGER.log(
                        System.Logger.Level.DEBUG,
                        "{0} groups, streams or tensors of devices were not closed, so {1} is not"
                                + " called",
                        held,
                        name);
                return;
            }
            ended = true;
        }
        CleanUp.run(
                "the end of ACL",
                () ->
                        BoundedCall.run(
                                "jccl-hccl-finalize",
                                () -> CannErrors.check(finalization.getAsInt(), name),
                                LIMIT));
    }

    private void destroyCommunicators() {
        List<Runnable> open = List.copyOf(communicators);
        if (open.isEmpty()) {
            return;
        }
        CleanUp.run(
                "communicators at the end of the process",
                () -> {
                    if (!BoundedCall.run(
                            "jccl-hccl-exit-destroy",
                            () -> open.forEach(Runnable::run),
                            DESTROY_LIMIT)) {
                        CleanUp.log(
                                "communicators at the end of the process",
                                "HCCL did not destroy them in time, and may end the process with a"
                                        + " signal; close groups before the program ends");
                    }
                });
    }

    /** The caller has the monitor. */
    private void awaitFreeing() {
        long end = System.nanoTime() + FREEING_LIMIT.toNanos();
        boolean interrupted = false;
        while (held > 0 && end - System.nanoTime() > 0) {
            try {
                TimeUnit.NANOSECONDS.timedWait(this, end - System.nanoTime());
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
