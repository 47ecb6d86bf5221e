package org.jccl.sccl;

import org.jccl.FailureContext;
import org.jccl.NativeException;

/** The meaning of SCCL's result codes; the library has no texts for them. */
final class ScclErrors {

    private ScclErrors() {}

    /** Throws for any code but success. */
    static void check(int code, String call) {
        if (code != 0) {
            throw new NativeException(
                    FailureContext.NONE, "libsccl", code, call + ": " + describe(code));
        }
    }

    private static String describe(int code) {
        return switch (code) {
            case 1 -> "scclKernelError: tpuDNN rejected the call or failed" + TpuErrors.advice();
            case 2 -> "scclInvalidArgument";
            default -> "an undocumented code" + TpuErrors.advice();
        };
    }
}
