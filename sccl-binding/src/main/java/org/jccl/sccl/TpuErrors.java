package org.jccl.sccl;

import org.jccl.FailureContext;
import org.jccl.NativeException;

/** The meaning of the codes of libtpurt and libtpudnn, which have no texts for them. */
final class TpuErrors {

    private static final int OUT_OF_MEMORY = 6;
    private static final int MEMORY_ALLOCATION = 9;

    private TpuErrors() {}

    /** Throws unless a call of libtpurt succeeded. */
    static void checkRuntime(int code, String call) {
        if (code != 0) {
            throw new NativeException(
                    FailureContext.NONE, "libtpurt", code, call + ": " + runtimeText(code));
        }
    }

    /** Throws unless a call of libtpudnn succeeded. */
    static void checkDnn(int code, String call) {
        if (code != 0) {
            throw new NativeException(
                    FailureContext.NONE,
                    "libtpudnn",
                    code,
                    call + ": tpudnnStatusFailed" + advice());
        }
    }

    /** Returns whether a code of tpuMalloc means that the device has not enough memory. */
    static boolean isOutOfMemory(int code) {
        return code == OUT_OF_MEMORY || code == MEMORY_ALLOCATION;
    }

    static String runtimeText(int code) {
        return switch (code) {
            case 1 -> "tpuErrorInvalidDevice; look at the device index";
            case 2 -> "tpuErrorNoDevice; no device, or none current in this thread";
            case 3 -> "tpuErrorFailure" + advice();
            case 4 -> "tpuErrorTimeout; the device may hang, look at the driver's log";
            case 5 -> "tpuErrorInvalidParam";
            case OUT_OF_MEMORY -> "tpuErrorOutOfMemory";
            case 7 -> "tpuErrorNotSupported";
            case 8 -> "tpuErrorInvalidValue";
            case MEMORY_ALLOCATION -> "tpuErrorMemoryAllocation";
            case 10 -> "tpuErrorKernelModuleLoad; is the kernel module for this chip?";
            default -> "an undocumented code" + advice();
        };
    }

    /** The place where a user may find more. */
    static String advice() {
        return "; look at the driver's log";
    }
}
