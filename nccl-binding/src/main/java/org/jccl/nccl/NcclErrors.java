package org.jccl.nccl;

import java.io.IOException;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jccl.FailureContext;
import org.jccl.JcclException;
import org.jccl.NativeException;
import org.jccl.OperationTimeoutException;
import org.jccl.PeerLostException;

/** The meaning of NCCL's result codes. */
final class NcclErrors {

    private static final String LIBRARY = "libnccl";
    private static final String MORE = "; set NCCL_DEBUG=WARN for details";

    private static final String SHARED_MEMORY = "/dev/shm";
    private static final long MEBIBYTE = 1 << 20;

    private static final String SAME_GPU =
            "; each rank of a host needs a GPU of its own. MIG slices of one GPU share its bus id, by"
                    + " which NCCL before 2.30.7 tells GPUs apart: give each rank a slice of another"
                    + " GPU, or install NCCL 2.30.7 or later";

    private NcclErrors() {}

    /**
     * The exception for a failed call.
     *
     * @param code not ncclSuccess
     * @param call the name of the function
     * @param communicator 0 before there is one
     */
    static JcclException of(int code, String call, long communicator) {
        String text = call + ": " + describe(code) + last(communicator);
        return switch (code) {
            case NcclNative.REMOTE_ERROR ->
                    new PeerLostException(
                            FailureContext.NONE,
                            LIBRARY
                                    + " lost a peer: "
                                    + text
                                    + "; look for the first rank that failed");
            case NcclNative.TIMEOUT ->
                    new OperationTimeoutException(
                            FailureContext.NONE, LIBRARY + " timed out: " + text);
            default ->
                    new NativeException(
                            FailureContext.NONE, LIBRARY, code, text + advice(code, text));
        };
    }

    /** Throws for any code but success of a call without a communicator, or that ends one. */
    static void check(int code, String call) {
        if (code != NcclNative.SUCCESS) {
            throw of(code, call, 0);
        }
    }

    private static String describe(int code) {
        if (code == NcclNative.TIMEOUT) {
            return "timeout";
        }
        String text = NcclNative.errorString(code);
        return text == null ? "result " + code : text;
    }

    private static String last(long communicator) {
        String text = NcclNative.lastError(communicator);
        String detail = text == null ? "" : text.strip();
        // The text may be from an earlier call, but it is still the best hint.
        return detail.isEmpty() ? "" : " (last error: " + detail + ")";
    }

    private static String advice(int code, String text) {
        return switch (code) {
            case NcclNative.UNHANDLED_CUDA_ERROR ->
                    text.contains("driver version is insufficient")
                            ? "; this NCCL was built for a newer CUDA than the driver supports:"
                                    + " install one for CUDA 12 (pip: nvidia-nccl-cu12), or a newer"
                                    + " driver"
                            : MORE;
            case NcclNative.INVALID_USAGE ->
                    text.contains("Duplicate GPU") || text.contains("the same GPU")
                            ? SAME_GPU
                            : "; all ranks must load the same NCCL, and each its own device";
            case NcclNative.SYSTEM_ERROR ->
                    text.contains(SHARED_MEMORY)
                            ? sharedMemory()
                            : "; look at the network: NCCL_SOCKET_IFNAME, NCCL_DEBUG=INFO";
            default -> MORE;
        };
    }

    /** Ranks of a host exchange data there. It is small in a container by default. */
    private static String sharedMemory() {
        return "; "
                + SHARED_MEMORY
                + sizes()
                + ". Docker gives a container 64 MiB: start it with --shm-size=1g or --ipc=host."
                + " In Kubernetes mount an emptyDir with medium: Memory there. NCCL_SHM_DISABLE=1"
                + " avoids it, but is slower";
    }

    private static String sizes() {
        try {
            FileStore store = Files.getFileStore(Path.of(SHARED_MEMORY));
            return " has "
                    + store.getTotalSpace() / MEBIBYTE
                    + " MiB here, "
                    + store.getUsableSpace() / MEBIBYTE
                    + " of them free";
        } catch (IOException e) {
            return " cannot be inspected: " + e;
        }
    }
}
