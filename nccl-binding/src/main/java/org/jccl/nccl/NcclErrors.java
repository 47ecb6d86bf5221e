package org.jccl.nccl;

import java.io.IOException;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;
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
            default ->
                    new NativeException(
                            FailureContext.NONE, LIBRARY, code, text + advice(code, text));
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

    private static String advice(int code, String text) {
        return switch (code) {
            case nccl.ncclInvalidUsage ->
                    text.contains("Duplicate GPU") || text.contains("the same GPU")
                            ? SAME_GPU
                            : "; all ranks must load the same NCCL, and each its own device";
            case nccl.ncclSystemError ->
                    text.contains(SHARED_MEMORY)
                            ? sharedMemory()
                            : "; look at the network: NCCL_SOCKET_IFNAME, NCCL_DEBUG=INFO";
            default -> "; NCCL_DEBUG=WARN makes NCCL say more";
        };
    }

    /** Ranks of a host exchange data there. It is small in a container by default. */
    private static String sharedMemory() {
        return "; "
                + SHARED_MEMORY
                + sizes()
                + ". Docker gives a container 64 MiB: start it with --shm-size=1g or --ipc=host. In"
                + " Kubernetes mount an emptyDir with medium: Memory there. NCCL_SHM_DISABLE=1 does"
                + " without, but is slower";
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
            return " can not be looked at: " + e;
        }
    }
}
