package org.jccl.hccl;

import com.sun.jna.Pointer;
import java.nio.charset.StandardCharsets;
import org.jccl.FailureContext;
import org.jccl.JcclException;
import org.jccl.NativeException;
import org.jccl.OperationTimeoutException;
import org.jccl.PeerLostException;

/** The meaning of HCCL's result codes. */
final class HcclErrors {

    static final int AGAIN = 20;

    /** Names the topology file of an Ascend 950. */
    static final String ROOT_INFO_FILE = "/etc/hccl_rootinfo.json";

    static final int TIMEOUT = 9;
    static final int REMOTE = 21;
    private static final String LIBRARY = "libhccl";

    private static final String BUFFERS =
            ": each communicator allocates two device buffers at its first use; close groups,"
                    + " or lower HcclOptions.subGroupBufferMegabytes, bufferMegabytes or"
                    + " HCCL_BUFFSIZE on all ranks";

    /** HCCL reports missing files with these codes and without a text. */
    private static final String FILES =
            "; ASCEND_HOME_PATH must name the CANN in use, with its kernels, and an Ascend 950 needs "
                    + ROOT_INFO_FILE;

    private HcclErrors() {}

    /**
     * The exception for a failed call. Call it on the thread of the call, which has CANN's text.
     */
    static JcclException of(int code, String call) {
        String recent = CannErrors.recentMessage();
        String text =
                call
                        + ": "
                        + describe(code)
                        + (recent.isEmpty() ? "" : " (" + recent + ")")
                        + advice(code);
        return switch (code) {
            case REMOTE ->
                    new PeerLostException(
                            FailureContext.NONE,
                            LIBRARY
                                    + " lost a peer: "
                                    + text
                                    + "; look for the first rank that failed");
            case TIMEOUT ->
                    new OperationTimeoutException(
                            FailureContext.NONE, LIBRARY + " timed out: " + text);
            default -> new NativeException(FailureContext.NONE, LIBRARY, code, text);
        };
    }

    /** Throws for any code but success. */
    static void check(int code, String call) {
        if (code != Hccl.SUCCESS) {
            throw of(code, call);
        }
    }

    private static String describe(int code) {
        long text = Hccl.HcclGetErrorString(code);
        return text == 0
                ? name(code)
                : name(code)
                        + ", "
                        + new Pointer(text).getString(0, StandardCharsets.UTF_8.name()).strip();
    }

    static String name(int code) {
        return switch (code) {
            case 0 -> "success";
            case 1 -> "parameter error";
            case 2 -> "null pointer";
            case 3 -> "memory error";
            case 4 -> "internal error";
            case Hccl.NOT_SUPPORT -> "not supported";
            case 6 -> "not found";
            case 7 -> "unavailable";
            case 8 -> "system call error";
            case TIMEOUT -> "timeout";
            case 10 -> "open file failure";
            case 11 -> "tcp connect failure";
            case 12 -> "roce connect failure";
            case 13 -> "tcp transfer failure";
            case 14 -> "roce transfer failure";
            case 15 -> "runtime error";
            case 16 -> "driver error";
            case 17 -> "profiling error";
            case 18 -> "cce error";
            case 19 -> "network error";
            case AGAIN -> "try again";
            case REMOTE -> "remote error";
            case 22 -> "suspending";
            case 23 -> "retry of the operation failed";
            case 24 -> "out of memory";
            default -> "result " + code;
        };
    }

    private static String advice(int code) {
        return switch (code) {
            case 1 -> FILES + "; all ranks must give the same arguments and the same configuration";
            // HCCL returns it if there is no memory for the buffers of a communicator.
            case 2 -> "; the device may have no memory left" + BUFFERS;
            case 3, 24 -> BUFFERS;
            case Hccl.NOT_SUPPORT ->
                    "; the device or the installed CANN does not support this" + " operation";
            case 7 -> "; does the rank table give this rank another device?";
            case TIMEOUT -> "; HCCL_CONNECT_TIMEOUT is how long HCCL waits for the other ranks";
            case 10 -> "; can this process read the rank table?";
            case 11, 12, 13, 14, 19 ->
                    "; look at the network: HCCL_IF_IP, HCCL_SOCKET_IFNAME, HCCL_WHITELIST_DISABLE,"
                            + " and hccn_tool for the devices' ports";
            case 15 -> FILES + "; does this thread have a device, and does npu-smi list it?";
            case 16 -> "; does this thread have a device, and does npu-smi list it?";
            default -> "";
        };
    }
}
