package org.jccl.pytorch;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.stream.Stream;
import org.bytedeco.javacpp.Loader;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch_cuda;
import org.jccl.UsageException;
import org.jccl.spi.PathSetting;

/** Loads PyTorch's libraries. */
public final class TorchLibrary {

    private static final System.Logger LOGGER = System.getLogger(TorchLibrary.class.getName());

    private TorchLibrary() {}

    /**
     * Loads PyTorch's libraries, in one process of a host after the other. Programs that run as
     * several processes must call it before they use PyTorch. JavaCPP unpacks libraries to a folder
     * that the processes share. Otherwise a process may load a file that another one has only half
     * written, which ends it with SIGBUS (<a
     * href="https://github.com/bytedeco/javacpp/issues/608">issue 608</a>). Does nothing if the
     * libraries are loaded.
     *
     * <p>Also loads the libraries for CUDA, if the class path has those of PyTorch's classifier
     * with {@code -gpu}. Where they cannot be loaded, for instance because there is no driver, it
     * logs a warning, and PyTorch has only the CPU.
     *
     * @throws UsageException if this process cannot represent the path of JavaCPP's folder
     * @throws UncheckedIOException if JavaCPP's folder cannot be written to
     * @throws UnsatisfiedLinkError if the libraries cannot be loaded: the artifacts of PyTorch and
     *     of OpenBLAS for this platform must be on the class path, in matching versions. The
     *     message names the missing artifacts
     */
    public static synchronized void load() {
        try {
            String cache = Loader.getCacheDir().getPath();
            Path file = PathSetting.of("JavaCPP's folder", cache, "jccl-pytorch.lock");
            try (FileChannel channel =
                            FileChannel.open(
                                    file, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
                    FileLock lock = channel.lock()) {
                if (lock.isValid()) {
                    Loader.load(torch.class);
                    loadCuda();
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(
                    "the lock in JavaCPP's folder cannot be acquired: " + e, e);
        } catch (LinkageError | TypeNotPresentException e) {
            // The second attempt of a process fails differently from the first one.
            UnsatisfiedLinkError error = new UnsatisfiedLinkError(message(e));
            error.initCause(e);
            throw error;
        }
    }

    /** What {@link TorchStreams} needs. */
    private static void loadCuda() {
        if (hasNatives("pytorch", Loader.getPlatform() + "-gpu")) {
            try {
                Loader.load(torch_cuda.class);
            } catch (LinkageError | TypeNotPresentException e) {
                Throwable reason = e;
                while (reason.getCause() != null) {
                    reason = reason.getCause();
                }
                LOGGER.log(
                        System.Logger.Level.WARNING,
                        "PyTorch can use no GPU: its libraries for CUDA are on the class path, but"
                                + " cannot be loaded. They need NVIDIA's driver, the libraries of"
                                + " CUDA and cuDNN, and org.bytedeco:cuda with its classifier: "
                                + reason);
            }
        }
    }

    private static String message(Throwable cause) {
        String platform = Loader.getPlatform();
        List<String> missing =
                Stream.of("pytorch", "openblas")
                        .filter(artifact -> !hasNatives(artifact, platform))
                        .filter(artifact -> !hasNatives(artifact, platform + "-gpu"))
                        .map(artifact -> coordinates(artifact, platform))
                        .toList();
        return missing.isEmpty()
                ? "PyTorch's libraries for "
                        + platform
                        + " are on the class path, but cannot be loaded; the versions of pytorch,"
                        + " openblas and javacpp must match: "
                        + cause
                : "PyTorch's libraries cannot be loaded, because the class path has no native"
                        + " libraries for "
                        + platform
                        + "; add "
                        + String.join(" and ", missing)
                        + ", or org.bytedeco:pytorch-platform, which has those of all platforms: "
                        + cause;
    }

    private static boolean hasNatives(String artifact, String platform) {
        String folder = "org/bytedeco/" + artifact + "/" + platform + "/";
        return TorchLibrary.class.getClassLoader().getResource(folder) != null;
    }

    /** The coordinates of an artifact, with classifier; without a version if it is not known. */
    private static String coordinates(String artifact, String platform) {
        String name = "org.bytedeco:" + artifact + ":jar:" + platform;
        try {
            String version = Loader.getVersion("org.bytedeco", artifact);
            return version == null ? name : name + ":" + version;
        } catch (IOException e) {
            return name;
        }
    }
}
