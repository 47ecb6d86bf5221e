package org.jccl.spi.support;

import org.jccl.FailureContext;
import org.jccl.GroupAbortedException;
import org.jccl.JcclException;
import org.jccl.MismatchException;
import org.jccl.NativeException;
import org.jccl.OperationTimeoutException;
import org.jccl.PeerLostException;
import org.jccl.UsageException;

/**
 * The result of a call into native code of this project. Native code returns the ordinal; {@code
 * native/common/jccl.h} has the same list. The native code also provides the reason.
 */
public enum NativeStatus {
    /** The call succeeded. */
    OK,
    /** A peer did not take part in time. */
    TIMEOUT,
    /** A peer was lost. */
    PEER_LOST,
    /** The arguments were rejected; the group stays usable. */
    INVALID,
    /** The communicator was aborted or closed. */
    ABORTED,
    /** The ranks do not issue the same operations. */
    MISMATCH,
    /** Any other failure of the library. */
    INTERNAL;

    private static final NativeStatus[] BY_NUMBER = values();

    /**
     * Returns the status of a number.
     *
     * @param number the number that native code returned
     * @return the status; {@link #INTERNAL} for an unknown number
     */
    public static NativeStatus of(int number) {
        return number >= 0 && number < BY_NUMBER.length ? BY_NUMBER[number] : INTERNAL;
    }

    /**
     * Creates the exception of a failed call. The engine adds the context.
     *
     * @param number the number that native code returned, not that of {@link #OK}
     * @param library the name of the library, for instance {@code libgloo}
     * @param reason the reason from the native code, with additions of the binding
     * @param peer the lost rank, or -1
     * @return the exception, not thrown
     */
    public static JcclException exception(int number, String library, String reason, int peer) {
        FailureContext context = FailureContext.NONE;
        return switch (of(number)) {
            case TIMEOUT -> new OperationTimeoutException(context, reason);
            case PEER_LOST ->
                    new PeerLostException(
                            context,
                            "%s; look at that rank's log, close the group and build a new one on the remaining ranks"
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
