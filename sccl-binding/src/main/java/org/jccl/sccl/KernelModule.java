package org.jccl.sccl;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Optional;
import org.jccl.FailureContext;
import org.jccl.NativeException;

/**
 * The kernels that a handle on a stream requires: a file of its own, or a part of the library of
 * the vendor's plugin for PyTorch. That library is read and not loaded, because it needs PyTorch.
 */
final class KernelModule {

    /** The symbols between which the plugin's build embeds the file with objcopy. */
    private static final String START = "_binary_torch_tpu_kernel_data_start";

    private static final String END = "_binary_torch_tpu_kernel_data_end";

    private final Path file;

    /** Null if the file is the module. Never freed, because the runtime may not copy it. */
    private final Memory content;

    private KernelModule(Path file, Memory content) {
        this.file = file;
        this.content = content;
    }

    /** A module that is a file of its own. The file is checked when the module is loaded. */
    static KernelModule ofFile(Path file) {
        return new KernelModule(file, null);
    }

    /**
     * The module inside the plugin's library.
     *
     * @return the module, or empty if the library has none
     * @throws IOException if it cannot be read, or is no library
     */
    static Optional<KernelModule> insideOf(Path library) throws IOException {
        try (SharedObject read = SharedObject.open(library)) {
            Optional<ByteBuffer> bytes = read.between(START, END);
            if (bytes.isEmpty() || bytes.get().remaining() == 0) {
                return Optional.empty();
            }
            Memory content = new Memory(bytes.get().remaining());
            content.getByteBuffer(0, content.size()).put(bytes.get());
            return Optional.of(new KernelModule(library, content));
        }
    }

    /** Loads it on a stream of the current device; returns the native module. */
    long load(long stream) {
        String call = content == null ? "tpuKernelModuleLoadFromFile" : "tpuKernelModuleLoad";
        long module =
                content == null
                        ? Tpurt.tpuKernelModuleLoadFromFile(file.toString(), stream)
                        : Tpurt.tpuKernelModuleLoad(
                                Pointer.nativeValue(content), content.size(), stream);
        if (module == 0) {
            throw new NativeException(
                    FailureContext.NONE,
                    "libtpurt",
                    0,
                    call
                            + " returned nothing for "
                            + this
                            + "; set TPUKERNEL_FIRMWARE_PATH to the file of kernels of this chip");
        }
        return module;
    }

    @Override
    public String toString() {
        return content == null ? file.toString() : "the kernels inside " + file;
    }
}
