package org.jccl.internal.host;

import org.jccl.FailureContext;
import org.jccl.internal.operation.Operation;
import org.jccl.internal.operation.RunningOperations;

/**
 * Warns once when a thread issues a synchronous collective while another thread is inside an equal
 * one: the program does not order the two. If another rank has them in the other order, the library
 * mixes their numbers without an error, because equal calls cannot be told apart. A warning and no
 * exception, because the two calls may be ordered through other ranks.
 */
final class UnorderedThreads {

    private static final System.Logger LOGGER = System.getLogger(UnorderedThreads.class.getName());

    private final FailureContext context;
    private final RunningOperations running;

    /** Guarded by the monitor of the running operations. */
    private boolean warned;

    UnorderedThreads(FailureContext context, RunningOperations running) {
        this.context = context;
        this.running = running;
    }

    /** Looks for an equal call. Only a thread that finds the engine busy calls this. */
    void look(Operation operation) {
        synchronized (running) {
            if (warned || running.list().stream().noneMatch(each -> isEqual(each, operation))) {
                return;
            }
            warned = true;
        }
        LOGGER.log(
                System.Logger.Level.WARNING,
                "%s: thread '%s' issues it while another thread is inside an equal call. If another rank issues these calls in another order, their data is mixed without an error. Order the calls by a lock, or give each thread a group. JCCL_CHECK_CALLS=1 helps to find the threads. Reported once for this group"
                        .formatted(operation.context(context), Thread.currentThread().getName()));
    }

    private boolean isEqual(Operation other, Operation operation) {
        return !(other instanceof HostWork) // its caller may have gone on, and ordered the next one
                && other.kind == operation.kind
                && getsNumbers(operation)
                && other.describe().equals(operation.describe());
    }

    /** A root may send from several threads to ranks that take what comes. */
    private boolean getsNumbers(Operation operation) {
        return switch (operation.kind) {
            case BARRIER -> false;
            case BROADCAST, SCATTER -> operation.peer != context.rank();
            default -> true;
        };
    }
}
