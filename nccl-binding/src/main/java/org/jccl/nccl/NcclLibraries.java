package org.jccl.nccl;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.function.Consumer;
import org.jccl.Availability;
import org.jccl.BackendUnavailableException;
import org.jccl.spi.support.NativeLibraries;

/**
 * Loads the shim, which has the native methods and opens the vendor's libraries. A process does so
 * once, and remembers a failure.
 */
final class NcclLibraries {

    /** Older versions cannot abort a communicator while a thread is inside. */
    static final int OLDEST_VERSION = 21903;

    /** The CUDA version, in CUDA's code, that drivers from 525 on support. */
    private static final int OLDEST_DRIVER = 12000;

    /** The first version with the float8 types, in NCCL's code. */
    private static final int FLOAT8_VERSION = 22400;

    private static final Set<String> PLATFORMS = Set.of("linux-x86_64", "linux-arm64");

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
            loaded = new Search(System.getProperties(), System.getenv()).run();
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

    /** Returns whether the library has the types of float8. */
    boolean hasFloat8() {
        return version >= FLOAT8_VERSION;
    }

    int deviceCount() {
        return deviceCount;
    }

    static String versionText(int version) {
        return version / 10000 + "." + version / 100 % 100 + "." + version % 100;
    }

    /** Says why the libraries cannot be used. */
    private static final class UnavailableException extends Exception {
        private static final long serialVersionUID = 1;

        UnavailableException(String reason) {
            super(reason);
        }
    }

    /** One search, with a line for each place that was searched. */
    private static final class Search {

        private final List<String> tried = new ArrayList<>();
        private final Properties properties;
        private final Map<String, String> environment;

        /** The number of devices according to the runtime that was opened last. */
        private int devices;

        /** Why the runtime that was opened last does not work, or empty. */
        private String failure = "";

        Search(Properties properties, Map<String, String> environment) {
            this.properties = properties;
            this.environment = environment;
        }

        NcclLibraries run() {
            try {
                loadShim();
                openDriver();
                openRuntime();
                String path = openNccl();
                int version = version();
                return new NcclLibraries(
                        new Availability.Available(versionText(version), path), version, devices);
            } catch (UnavailableException | BackendUnavailableException e) {
                return new NcclLibraries(new Availability.Unavailable(e.getMessage(), tried), 0, 0);
            }
        }

        private void loadShim() throws UnavailableException {
            String platform = NativeLibraries.platform();
            if (!PLATFORMS.contains(platform)) {
                throw new UnavailableException(
                        "NCCL needs Linux on x86_64 or aarch64, this is " + platform);
            }
            NativeLibraries.load(
                    "org.jccl:jccl-nccl",
                    file -> NcclLibraries.class.getResourceAsStream(platform + "/" + file),
                    List.of("lib" + NcclNative.LIBRARY + ".so"),
                    System::load);
        }

        private void openDriver() throws UnavailableException {
            NcclLibrary driver = NcclLibrary.DRIVER;
            if (driver.isNamed(properties, environment)
                    && find(driver, name -> require(NcclNative.openDriver(name))).isEmpty()) {
                throw notFound(driver, "install the NVIDIA driver");
            }
        }

        /**
         * Opens the first runtime that works with the driver, and counts the devices. A runtime
         * that the program has already loaded takes precedence over newer ones on disk, so that a
         * process has one runtime.
         */
        private void openRuntime() throws UnavailableException {
            boolean named = NcclLibrary.RUNTIME_13.isNamed(properties, environment);
            boolean opened =
                    !named
                            && NcclLibrary.runtimes().stream()
                                    .anyMatch(runtime -> openPresent(runtime, this::openRuntime));
            for (NcclLibrary runtime : NcclLibrary.runtimes()) {
                opened = opened || search(runtime, this::openRuntime).isPresent();
                if (named) {
                    break;
                }
            }
            if (opened) {
                if (devices <= 0) {
                    throw new UnavailableException("CUDA works, but there is no device");
                }
                return;
            }
            if (!failure.isEmpty()) {
                throw new UnavailableException("CUDA does not work here: " + failure);
            }
            throw notFound(
                    NcclLibrary.RUNTIME_13,
                    "neither was "
                            + NcclLibrary.RUNTIME_12.fileName
                            + "; install the runtime of CUDA 13 (pip: nvidia-cuda-runtime) or 12"
                            + " (pip: nvidia-cuda-runtime-cu12), whichever the driver supports");
        }

        private void openRuntime(String name) {
            require(NcclNative.openRuntime(name, isPresent(name)));
            devices = NcclNative.cudaDeviceCount();
            if (devices < 0 && devices != -CudaErrors.NO_DEVICE) {
                failure = explain(-devices);
                throw new UnsatisfiedLinkError(failure);
            }
        }

        private static String explain(int code) {
            NcclNative.cudaGetLastError();
            String runtime = "the runtime of CUDA " + cudaText(NcclNative.cudaRuntimeVersion());
            if (code != CudaErrors.INSUFFICIENT_DRIVER && code != CudaErrors.NEWER_DRIVER_NEEDED) {
                return runtime + " failed: " + CudaErrors.text(code);
            }
            int driver = NcclNative.cudaDriverVersion();
            if (driver <= 0) {
                return runtime
                        + " finds no NVIDIA driver (libcuda.so.1); install one, or start the"
                        + " container with the devices (docker run --gpus all)";
            }
            return runtime
                    + " does not work with the driver, which supports CUDA up to "
                    + cudaText(driver)
                    + "; install "
                    + (driver < OLDEST_DRIVER
                            ? "an NVIDIA driver of version 525 or newer, or 580 for CUDA 13"
                            : "the runtime of CUDA 12 (pip: nvidia-cuda-runtime-cu12), or a newer"
                                    + " driver");
        }

        private static String cudaText(int version) {
            return version / 1000 + "." + version % 1000 / 10;
        }

        private String openNccl() throws UnavailableException {
            return find(
                            NcclLibrary.NCCL,
                            name -> require(NcclNative.openNccl(name, isPresent(name))))
                    .orElseThrow(
                            () ->
                                    notFound(
                                            NcclLibrary.NCCL,
                                            "install NCCL 2.19.3 or newer for the CUDA of the"
                                                    + " driver (pip: nvidia-nccl-cu13 or"
                                                    + " nvidia-nccl-cu12)"));
        }

        private static int version() throws UnavailableException {
            int version = NcclNative.version();
            if (version < 0) {
                throw new UnavailableException("ncclGetVersion failed with code " + -version);
            }
            if (version < OLDEST_VERSION) {
                throw new UnavailableException(
                        "NCCL "
                                + versionText(version)
                                + " is too old; install "
                                + versionText(OLDEST_VERSION)
                                + " or newer");
            }
            return version;
        }

        /** A name without a folder stands for the library that the process has already. */
        private static boolean isPresent(String name) {
            return name.indexOf('/') < 0;
        }

        private static void require(boolean opened) {
            if (!opened) {
                throw new UnsatisfiedLinkError(NcclNative.text());
            }
        }

        /** Opens the first that can be used, and returns its file. */
        private Optional<String> find(NcclLibrary library, Consumer<String> opener) {
            if (!library.isNamed(properties, environment) && openPresent(library, opener)) {
                return Optional.of(NcclNative.text());
            }
            return search(library, opener);
        }

        private Optional<String> search(NcclLibrary library, Consumer<String> opener) {
            return library.search(properties, environment)
                    .load(file -> opener.accept(file.toString()), tried)
                    .map(Path::toString);
        }

        private boolean openPresent(NcclLibrary library, Consumer<String> opener) {
            try {
                opener.accept(library.fileName);
                tried.add(NcclNative.text() + " (loaded before by this process): taken");
                return true;
            } catch (UnsatisfiedLinkError e) {
                tried.add(library.fileName + " in this process: " + e.getMessage());
                return false;
            }
        }

        private static UnavailableException notFound(NcclLibrary library, String advice) {
            return new UnavailableException(
                    library.fileName
                            + " was not found; "
                            + advice
                            + ", or name the file in -D"
                            + library.property
                            + " or in "
                            + library.variable);
        }
    }
}
