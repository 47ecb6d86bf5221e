package org.jccl.mpi;

import java.nio.charset.StandardCharsets;
import org.jccl.FailureContext;
import org.jccl.GroupAbortedException;
import org.jccl.JcclException;
import org.jccl.MismatchException;
import org.jccl.NativeException;
import org.jccl.OperationTimeoutException;
import org.jccl.PeerLostException;
import org.jccl.UsageException;
import org.jccl.spi.NativeStatus;

/** Turns what the shim returned into an exception. */
final class MpiErrors {

    private static final int MESSAGE_BYTES = 4096;

    private MpiErrors() {}

    /**
     * Makes the exception; on the thread that made the call.
     *
     * @param status the number of a {@link NativeStatus}, not OK
     */
    static JcclException of(int status) {
        byte[] text = new byte[MESSAGE_BYTES];
        int length = MpiNative.message(text, text.length);
        String message = "MPI: " + new String(text, 0, length, StandardCharsets.UTF_8).strip();
        FailureContext context = FailureContext.NONE; // the engine knows better
        return switch (NativeStatus.of(status)) {
            case MISMATCH ->
                    new MismatchException(
                            context,
                            message
                                    + "; make every rank issue the same operations in the same"
                                    + " order with the same arguments");
            case PEER_LOST ->
                    new PeerLostException(
                            context,
                            message
                                    + "; look at that rank's log, close the group and build a new"
                                    + " one on the ranks that are left");
            case INVALID -> new UsageException(context, message);
            case ABORTED -> new GroupAbortedException(context, message);
            case TIMEOUT ->
                    new OperationTimeoutException(
                            context, message + "; see whether every rank of the job has come here");
            case OK, INTERNAL -> new NativeException(context, "MPI", status, message);
        };
    }
}
