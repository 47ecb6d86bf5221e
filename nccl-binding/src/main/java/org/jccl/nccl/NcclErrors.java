package org.jccl.nccl;

import org.bytedeco.cuda.global.nccl;
import org.bytedeco.cuda.nccl.ncclComm;
import org.bytedeco.javacpp.BytePointer;
import org.jccl.FailureContext;
import org.jccl.JcclException;
import org.jccl.NativeException;
import org.jccl.OperationTimeoutException;
import org.jccl.PeerLostException;

/** What NCCL's result codes mean to a caller. */
final class NcclErrors {

    /** Results that the presets' headers do not have yet. */
    private static final int TIMEOUT = 8;

    private static final String LIBRARY = "libnccl";

    private NcclErrors() {}

    /**
     * The exception for a failed call.
     *
     * @param code not ncclSuccess
     * @param call what was called
     * @param communicator null before there is one
     */
    static JcclException of(int code, String call, ncclComm communicator) {
        String text = call + ": " + describe(code) + last(communicator);
        return switch (code) {
            case nccl.ncclRemoteError ->
                    new PeerLostException(
                            FailureContext.NONE,
                            LIBRARY
                                    + " lost a peer: "
                                    + text
                                    + "; look for the first rank that failed");
            case TIMEOUT ->
                    new OperationTimeoutException(
                            FailureContext.NONE, LIBRARY + " ran out of time: " + text);
            default -> new NativeException(FailureContext.NONE, LIBRARY, code, text + advice(code));
        };
    }

    /** Throws for any code but success of a call without a communicator, or that ends one. */
    static void check(int code, String call) {
        if (code != nccl.ncclSuccess) {
            throw of(code, call, null);
        }
    }

    private static String describe(int code) {
        if (code == TIMEOUT) {
            return "timeout";
        }
        BytePointer text = nccl.ncclGetErrorString(code);
        return text == null ? "result " + code : text.getString();
    }

    private static String last(ncclComm communicator) {
        BytePointer text = nccl.ncclGetLastError(communicator);
        String detail = text == null ? "" : text.getString().strip();
        // It can be of an earlier call, in which case it is still the best hint there is.
        return detail.isEmpty() ? "" : " (last error: " + detail + ")";
    }

    private static String advice(int code) {
        return switch (code) {
            case nccl.ncclInvalidUsage ->
                    "; all ranks must load the same NCCL, and each its own device";
            case nccl.ncclSystemError ->
                    "; look at the network: NCCL_SOCKET_IFNAME, NCCL_DEBUG=INFO";
            default -> "; NCCL_DEBUG=WARN makes NCCL say more";
        };
    }
}
