package org.jccl.nccl;

import org.jccl.FailureContext;
import org.jccl.NativeException;

/** The meaning of the CUDA runtime's error codes. */
final class CudaErrors {

    /** Codes that mean something other than a failure, as CUDA's header numbers them. */
    static final int SUCCESS = 0;

    static final int MEMORY_ALLOCATION = 2;
    static final int INSUFFICIENT_DRIVER = 35;
    static final int NEWER_DRIVER_NEEDED = 36;
    static final int NO_DEVICE = 100;
    static final int NOT_READY = 600;

    private CudaErrors() {}

    /** Throws for any code but success, which no other code of this thread then meets. */
    static void check(int code, String call) {
        if (code != SUCCESS) {
            NcclNative.cudaGetLastError();
            throw new NativeException(
                    FailureContext.NONE, "libcudart", code, call + ": " + text(code));
        }
    }

    /** The number or address that a call gave, or throws what its negative code means. */
    static long value(long result, String call) {
        if (result < 0) {
            check((int) -result, call);
        }
        return result;
    }

    /** Returns whether an allocation failed because there is not enough memory. */
    static boolean isOutOfMemory(long result) {
        // No runtime is known to return success and no memory, but a tensor at 0 would crash later.
        return result == -MEMORY_ALLOCATION || result == 0;
    }

    /** A code's name and meaning. */
    static String text(int code) {
        String name = NcclNative.cudaErrorName(code);
        String text = NcclNative.cudaErrorString(code);
        return (name == null ? "" : name + ", ") + (text == null ? "" : text);
    }
}
