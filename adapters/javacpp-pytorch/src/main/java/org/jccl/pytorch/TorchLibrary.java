package org.jccl.pytorch;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.bytedeco.javacpp.Loader;
import org.bytedeco.pytorch.global.torch;

/** Loads PyTorch's libraries. */
public final class TorchLibrary {

    private TorchLibrary() {}

    /**
     * Loads PyTorch's libraries, one process of a host after the other. Programs that run as
     * several processes call it before they use PyTorch: JavaCPP unpacks libraries to a folder that
     * processes share, and one may load a file that another has only half written, which ends it
     * with SIGBUS (<a href="https://github.com/bytedeco/javacpp/issues/608">issue 608</a>). Does
     * nothing more when they are loaded.
     *
     * @throws UncheckedIOException when JavaCPP's folder can not be written to
     * @throws UnsatisfiedLinkError when the libraries can not be loaded: the artifacts of PyTorch
     *     and of OpenBLAS for this platform must be on the class path, in versions that belong
     *     together
     */
    public static synchronized void load() {
        try {
            Path file = Loader.getCacheDir().toPath().resolve("jccl-pytorch.lock");
            try (FileChannel channel =
                            FileChannel.open(
                                    file, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
                    FileLock lock = channel.lock()) {
                if (lock.isValid()) {
                    Loader.load(torch.class);
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException("the lock in JavaCPP's folder can not be had: " + e, e);
        }
    }
}
