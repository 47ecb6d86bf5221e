package org.jccl.mpi;

import java.nio.charset.StandardCharsets;
import org.jccl.JcclException;
import org.jccl.spi.support.NativeStatus;

/** Turns results of the shim into exceptions. */
final class MpiErrors {

    private static final int MESSAGE_BYTES = 4096;

    private MpiErrors() {}

    /**
     * Makes the exception. Call it on the thread of the native call.
     *
     * @param status the number of a {@link NativeStatus}, not OK
     */
    static JcclException of(int status) {
        byte[] text = new byte[MESSAGE_BYTES];
        int length = MpiNative.message(text, text.length);
        String message = "MPI: " + new String(text, 0, length, StandardCharsets.UTF_8).strip();
        String advice =
                NativeStatus.of(status) == NativeStatus.TIMEOUT
                        ? "; check that every rank of the job has reached this call"
                        : "";
        return NativeStatus.exception(status, "MPI", message + advice, -1);
    }

    /**
     * Checks a result that is a number, or minus a {@link NativeStatus}. Call it on the thread of
     * the native call, which has MPI's text.
     */
    static int answered(int result) {
        return (int) answered((long) result);
    }

    /** Checks a result that is a handle. */
    static long answered(long result) {
        if (result < 0) {
            throw of((int) -result);
        }
        return result;
    }
}
