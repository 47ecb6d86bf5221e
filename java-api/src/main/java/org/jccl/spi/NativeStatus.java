package org.jccl.spi;

import org.jccl.FailureContext;
import org.jccl.GroupAbortedException;
import org.jccl.JcclException;
import org.jccl.MismatchException;
import org.jccl.NativeException;
import org.jccl.OperationTimeoutException;
import org.jccl.PeerLostException;
import org.jccl.UsageException;

/**
 * What a call into native code of this project came to. Native code returns the number, which is
 * the ordinal: {@code native/common/jccl.h} has the same list. The native code says the reason.
 */
public enum NativeStatus {
    /** It succeeded. */
    OK,
    /** A peer did not do its part in time. */
    TIMEOUT,
    /** A peer is gone. */
    PEER_LOST,
    /** The arguments are refused; the group goes on. */
    INVALID,
    /** The communicator was aborted or closed. */
    ABORTED,
    /** The ranks do not issue the same operations. */
    MISMATCH,
    /** Anything else that went wrong in the library. */
    INTERNAL;

    private static final NativeStatus[] BY_NUMBER = values();

    /**
     * The status of a number.
     *
     * @param number what native code returned
     * @return the status; {@link #INTERNAL} for a number that is none
     */
    public static NativeStatus of(int number) {
        return number >= 0 && number < BY_NUMBER.length ? BY_NUMBER[number] : INTERNAL;
    }

    /**
     * The exception for a failed call. The engine adds where it happened.
     *
     * @param number what native code returned, not that of {@link #OK}
     * @param library its name, for instance {@code libgloo}
     * @param reason in the native code's words, and what a binding has to add to them
     * @param peer the rank that was lost, or -1
     * @return not thrown yet
     */
    public static JcclException exception(int number, String library, String reason, int peer) {
        FailureContext context = FailureContext.NONE;
        return switch (of(number)) {
            case TIMEOUT -> new OperationTimeoutException(context, reason);
            case PEER_LOST ->
                    new PeerLostException(
                            context,
                            "%s; look at that rank's log, close the group and build a new one on the ranks that are left"
                                    .formatted(reason),
                            peer);
            case INVALID -> new UsageException(context, reason);
            case ABORTED -> new GroupAbortedException(context, reason);
            case MISMATCH ->
                    new MismatchException(
                            context,
                            "%s; make every rank issue the same operations in the same order with the same arguments"
                                    .formatted(reason));
            case OK, INTERNAL -> new NativeException(context, library, number, reason);
        };
    }
}
