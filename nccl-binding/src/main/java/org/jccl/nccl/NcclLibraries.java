package org.jccl.nccl;

import java.io.UncheckedIOException;
import java.net.MalformedURLException;
import java.net.URL;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import org.bytedeco.cuda.global.cudart;
import org.bytedeco.cuda.global.nccl;
import org.bytedeco.javacpp.Loader;
import org.jccl.Availability;
import org.jccl.BackendUnavailableException;
import org.jccl.spi.LibrarySearch;
import org.jccl.spi.NativeLibraries;

/**
 * Loads the vendor's libraries by absolute path, before any class of the presets does: left alone,
 * the presets take whatever they meet first, and a class whose loading failed is dead for good.
 */
final class NcclLibraries {

    /** Older ones can not abort a communicator that a thread is inside of. */
    static final int OLDEST_VERSION = 21903;

    private static final Set<String> PLATFORMS = Set.of("linux-x86_64", "linux-arm64");

    /** A process can load these libraries once, and has to remember a failure. */
    private static NcclLibraries loaded;

    private final Availability availability;
    private final int version;
    private final int deviceCount;

    private NcclLibraries(Availability availability, int version, int deviceCount) {
        this.availability = availability;
        this.version = version;
        this.deviceCount = deviceCount;
    }

    /** The libraries of this process, loaded by the first call. Never throws. */
    static synchronized NcclLibraries get() {
        if (loaded == null) {
            loaded = load(System.getProperties(), System.getenv());
        }
        return loaded;
    }

    Availability availability() {
        return availability;
    }

    /** As NCCL codes it, for instance 22809 for 2.28.9. */
    int version() {
        return version;
    }

    int deviceCount() {
        return deviceCount;
    }

    /**
     * Whether the loaded NCCL has a function. Calling one that it lacks ends the process, because
     * the presets' glue is linked lazily.
     */
    static boolean has(String function) {
        return Loader.addressof(function) != null;
    }

    static String versionText(int version) {
        return version / 10000 + "." + version / 100 % 100 + "." + version % 100;
    }

    private static NcclLibraries load(Properties properties, Map<String, String> environment) {
        List<String> tried = new ArrayList<>();
        String platform = NativeLibraries.platform();
        if (!PLATFORMS.contains(platform)) {
            return unavailable("NCCL needs Linux on x86_64 or aarch64, this is " + platform, tried);
        }
        try {
            Path usual = Path.of(System.getProperty("user.home"), ".javacpp", "cache");
            NativeLibraries.unpackPrivately("org.bytedeco.javacpp.cachedir", Optional.of(usual));
        } catch (BackendUnavailableException e) {
            return unavailable(e.getMessage(), tried);
        }
        String path = "";
        for (NcclLibrary library : NcclLibrary.values()) {
            path = load(library, library.search(properties, environment), tried);
            if (path == null) {
                return unavailable(
                        withoutPresets(platform)
                                + library.fileName
                                + " was not found; "
                                + advice(library)
                                + ", or name the file in -D"
                                + library.property
                                + " or in "
                                + library.variable,
                        tried);
            }
        }
        try {
            return describe(path, tried);
        } catch (LinkageError | RuntimeException e) {
            return unavailable(
                    withoutPresets(platform)
                            + "the libraries were found but not usable: "
                            + LibrarySearch.messages(e),
                    tried);
        }
    }

    /** The jar whose lack explains a failure, or nothing. */
    private static String withoutPresets(String platform) {
        String file = "org/bytedeco/cuda/" + platform + "/libjnicudart.so";
        if (Loader.class.getClassLoader().getResource(file) != null) {
            return "";
        }
        return "the CUDA presets' part for "
                + platform
                + " is not here: add org.bytedeco:cuda with the classifier "
                + platform
                + "; ";
    }

    private static String advice(NcclLibrary library) {
        return switch (library) {
            case DRIVER -> "install the NVIDIA driver";
            case RUNTIME -> "install the CUDA 13 runtime (pip: nvidia-cuda-runtime)";
            case NCCL -> "install NCCL 2.19.3 or newer for CUDA 13 (pip: nvidia-nccl-cu13)";
        };
    }

    /** Loads the first file that can be, and returns its path, or null. */
    private static String load(NcclLibrary library, LibrarySearch search, List<String> tried) {
        String before;
        try {
            before = Loader.getLoadedLibraries().get(library.loaderKey);
        } catch (LinkageError e) {
            tried.add("JavaCPP: " + LibrarySearch.messages(e));
            return null;
        }
        if (before != null) {
            tried.add(before + " (loaded before by another user of JavaCPP): taken");
            return before;
        }
        return search.load(file -> load(library, file), tried).map(Path::toString).orElse(null);
    }

    private static void load(NcclLibrary library, Path file) {
        try {
            URL[] address = {file.toUri().toURL()};
            Loader.loadLibrary(Loader.class, address, library.loaderKey);
        } catch (MalformedURLException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static NcclLibraries describe(String path, List<String> tried) {
        int[] result = new int[1];
        int code = cudart.cudaGetDeviceCount(result);
        if (code != cudart.cudaSuccess) {
            return unavailable(
                    "CUDA does not work here: " + CudaErrors.text(code) + advice(code), tried);
        }
        if (result[0] == 0) {
            return unavailable("CUDA works, but there is no device", tried);
        }
        int devices = result[0];
        code = nccl.ncclGetVersion(result);
        if (code != nccl.ncclSuccess) {
            return unavailable("ncclGetVersion failed with code " + code, tried);
        }
        int version = result[0];
        if (version < OLDEST_VERSION) {
            return unavailable(
                    "NCCL "
                            + versionText(version)
                            + " is too old; install "
                            + versionText(OLDEST_VERSION)
                            + " or newer",
                    tried);
        }
        return new NcclLibraries(
                new Availability.Available(versionText(version), path), version, devices);
    }

    private static String advice(int code) {
        return code == cudart.cudaErrorInsufficientDriver
                ? "; install a driver that is as new as the CUDA runtime"
                : "";
    }

    private static NcclLibraries unavailable(String reason, List<String> tried) {
        return new NcclLibraries(new Availability.Unavailable(reason, tried), 0, 0);
    }
}
