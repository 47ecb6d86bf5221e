package org.jccl.gloo;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jccl.JcclException;
import org.jccl.spi.Durations;
import org.jccl.spi.support.NativeStatus;

/** Converts the shim's status to an exception. */
final class GlooErrors {

    /** Beginning of the shim's message if it knows the lost rank. */
    private static final Pattern LOST_RANK = Pattern.compile("^gloo: lost rank (\\d{1,9}):");

    private static final int MESSAGE_BYTES = 4096;

    private GlooErrors() {}

    /**
     * Returns the exception for a failed call. Must be called on the same thread, because the
     * shim's message is thread-local.
     *
     * @param status the status, not OK
     * @param handle of the native communicator
     * @param timeout of the group
     */
    static JcclException of(int status, long handle, Duration timeout) {
        byte[] text = new byte[MESSAGE_BYTES];
        int length = GlooNative.message(handle, text, text.length);
        String message = "gloo: " + new String(text, 0, length, StandardCharsets.UTF_8);
        String advice =
                NativeStatus.of(status) == NativeStatus.TIMEOUT
                        ? " within "
                                + Durations.text(timeout)
                                + "; a rank is late, gone, or issues other sends and receives:"
                                + " look at its log, or raise the group's timeout"
                        : "";
        return NativeStatus.exception(status, "libgloo", message + advice, lostRank(message));
    }

    /** Returns the rank that the shim names, or -1. */
    private static int lostRank(String message) {
        Matcher named = LOST_RANK.matcher(message);
        return named.find() ? Integer.parseInt(named.group(1)) : -1;
    }
}
