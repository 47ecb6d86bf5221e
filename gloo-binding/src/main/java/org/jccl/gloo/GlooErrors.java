package org.jccl.gloo;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jccl.FailureContext;
import org.jccl.GroupAbortedException;
import org.jccl.JcclException;
import org.jccl.MismatchException;
import org.jccl.NativeException;
import org.jccl.OperationTimeoutException;
import org.jccl.PeerLostException;
import org.jccl.UsageException;
import org.jccl.spi.Durations;
import org.jccl.spi.NativeStatus;

/** What the shim's status means to a caller. */
final class GlooErrors {

    /** How the shim begins when it knows who was lost. */
    private static final Pattern LOST_RANK = Pattern.compile("^gloo: lost rank (\\d{1,9}):");

    private static final int MESSAGE_BYTES = 4096;

    private GlooErrors() {}

    /**
     * The exception for a failed call; on the thread that made it, which has the shim's words.
     *
     * @param status not OK
     * @param handle of the native communicator
     * @param timeout of the group
     */
    static JcclException of(int status, long handle, Duration timeout) {
        byte[] text = new byte[MESSAGE_BYTES];
        int length = GlooNative.message(handle, text, text.length);
        String message = "gloo: " + new String(text, 0, length, StandardCharsets.UTF_8);
        FailureContext context = FailureContext.NONE; // the engine knows better
        return switch (NativeStatus.of(status)) {
            case TIMEOUT ->
                    new OperationTimeoutException(
                            context,
                            message
                                    + " within "
                                    + Durations.text(timeout)
                                    + "; a rank is late, gone, or sends and receives something"
                                    + " else: look at its log, or raise the group's timeout");
            case PEER_LOST ->
                    new PeerLostException(
                            context,
                            message
                                    + "; look at that rank's log, close the group and build a new"
                                    + " one on the ranks that are left",
                            lostRank(message));
            case INVALID -> new UsageException(context, message);
            case ABORTED -> new GroupAbortedException(context, message);
            case MISMATCH ->
                    new MismatchException(
                            context,
                            message
                                    + "; make every rank issue the same operations in the same"
                                    + " order with the same arguments");
            case OK, INTERNAL -> new NativeException(context, "libgloo", status, message);
        };
    }

    /** The rank that the shim names, or -1. */
    private static int lostRank(String message) {
        Matcher named = LOST_RANK.matcher(message);
        return named.find() ? Integer.parseInt(named.group(1)) : -1;
    }
}
