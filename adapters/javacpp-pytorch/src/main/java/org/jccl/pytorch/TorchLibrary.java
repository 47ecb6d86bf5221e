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
import org.jccl.UsageException;
import org.jccl.spi.PathSetting;

/** Loads PyTorch's libraries. */
public final class TorchLibrary {

    private TorchLibrary() {}

    /**
     * Loads PyTorch's libraries, in one process of a host after the other. Programs that run as
     * several processes must call it before they use PyTorch. JavaCPP unpacks libraries to a folder
     * that the processes share. Otherwise a process may load a file that another one has only half
     * written, which ends it with SIGBUS (<a
     * href="https://github.com/bytedeco/javacpp/issues/608">issue 608</a>). Does nothing if the
     * libraries are loaded.
     *
     * @throws UsageException if this process can not represent the path of JavaCPP's folder
     * @throws UncheckedIOException if JavaCPP's folder can not be written to
     * @throws UnsatisfiedLinkError if the libraries can not be loaded: the artifacts of PyTorch and
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
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException("the lock in JavaCPP's folder can not be had: " + e, e);
        } catch (LinkageError | TypeNotPresentException e) {
            // The second attempt of a process fails differently from the first one.
            UnsatisfiedLinkError error = new UnsatisfiedLinkError(message(e));
            error.initCause(e);
            throw error;
        }
    }

    private static String message(Throwable cause) {
        String platform = Loader.getPlatform();
        List<String> missing =
                Stream.of("pytorch", "openblas")
                        .filter(artifact -> !hasNatives(artifact, platform))
                        .map(artifact -> coordinates(artifact, platform))
                        .toList();
        return missing.isEmpty()
                ? "PyTorch's libraries for "
                        + platform
                        + " are on the class path, but can not be loaded; the versions of pytorch,"
                        + " openblas and javacpp must belong together: "
                        + cause
                : "PyTorch's libraries can not be loaded, because the class path has no native"
                        + " libraries for "
                        + platform
                        + "; add "
                        + String.join(" and ", missing)
                        + ", or org.bytedeco:pytorch-platform, which has those of all platforms: "
                        + cause;
    }

    private static boolean hasNatives(String artifact, String platform) {
        ClassLoader loader = TorchLibrary.class.getClassLoader();
        return Stream.of("", "-gpu")
                .map(extension -> "org/bytedeco/" + artifact + "/" + platform + extension + "/")
                .anyMatch(folder -> loader.getResource(folder) != null);
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
