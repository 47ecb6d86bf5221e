package org.jccl.nccl;

import org.bytedeco.cuda.global.cudart;
import org.bytedeco.javacpp.BytePointer;
import org.jccl.FailureContext;
import org.jccl.NativeException;

/** What the CUDA runtime's error codes mean to a caller. */
final class CudaErrors {

    private CudaErrors() {}

    /** Throws for any code but success, which no other code of this thread then meets. */
    static void check(int code, String call) {
        if (code != cudart.cudaSuccess) {
            cudart.cudaGetLastError();
            throw new NativeException(
                    FailureContext.NONE, "libcudart", code, call + ": " + text(code));
        }
    }

    /** A code's name and meaning. */
    static String text(int code) {
        BytePointer name = cudart.cudaGetErrorName(code);
        BytePointer text = cudart.cudaGetErrorString(code);
        return (name == null ? "" : name.getString() + ", ")
                + (text == null ? "" : text.getString());
    }
}
