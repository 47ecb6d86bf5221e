package org.jccl.sccl;

import com.sun.jna.Function;
import com.sun.jna.Memory;
import com.sun.jna.Native;
import com.sun.jna.NativeLibrary;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jccl.Availability;
import org.jccl.spi.PathSetting;
import org.jccl.spi.support.LibrarySearch;
import org.jccl.spi.support.NativeLibraries;

/**
 * The vendor's three libraries, loaded by absolute path and in order: libsccl needs {@code
 * libtpudnn.so}, which only exists as the soname of the file that is named after the chip.
 */
final class ScclLibraries {

    private static final List<String> CHIPS = List.of("sg2260", "sg2260e", "bm1684x", "bm1686");
    private static final Pattern CHIP_IN_NAME = Pattern.compile("libtpudnn[.](\\w+)[.]so");
    private static final String MODULE_PROPERTY = "org.jccl.sccl.module";
    private static final String MODULE_VARIABLE = "TPUKERNEL_FIRMWARE_PATH";

    /** A process can load these libraries only once, and must remember a failure. */
    private static ScclLibraries loaded;

    private final Properties properties;
    private final Map<String, String> environment;
    private final List<String> tried = new ArrayList<>();
    private Availability availability;
    private NativeLibrary dnn;
    private NativeLibrary sccl;
    private Optional<KernelModule> module = Optional.empty();
    private int deviceCount;
    private boolean messages;
    private TpuRuntime runtime;

    private ScclLibraries(Properties properties, Map<String, String> environment) {
        this.properties = properties;
        this.environment = environment;
    }

    /** The libraries of this process, loaded by the first call. Never throws. */
    static synchronized ScclLibraries get() {
        if (loaded == null) {
            loaded = new ScclLibraries(System.getProperties(), System.getenv());
            loaded.availability = loaded.load();
        }
        return loaded;
    }

    Availability availability() {
        return availability;
    }

    int deviceCount() {
        return deviceCount;
    }

    /** Returns whether libsccl has scclSend and scclRecv. */
    boolean hasMessages() {
        return messages;
    }

    /** The one runtime of this process, once the libraries are available. */
    TpuRuntime runtime() {
        return runtime;
    }

    /** A function that some versions of libsccl lack. */
    Optional<Function> scclFunction(String name) {
        return find(sccl, name);
    }

    /** A function that some versions of libtpudnn lack. */
    Optional<Function> dnnFunction(String name) {
        return find(dnn, name);
    }

    private static Optional<Function> find(NativeLibrary library, String name) {
        try {
            return Optional.of(library.getFunction(name));
        } catch (UnsatisfiedLinkError e) {
            return Optional.empty();
        }
    }

    private Availability load() {
        if (!System.getProperty("os.name").equals("Linux")) {
            return unavailable("SCCL needs Linux, this is " + System.getProperty("os.name"));
        }
        try {
            NativeLibraries.unpackPrivately("jna.tmpdir", Optional.empty());
            Optional<Path> dnnFile = loadDnn();
            if (dnnFile.isEmpty()) {
                return missing("libtpudnn", ScclLibrary.TPUDNN);
            }
            Path folder = dnnFile.get().getParent();
            String chip = chip(dnnFile.get());
            String runtimeName = chip.isEmpty() ? "libtpurt.so" : "libtpurt." + chip + ".so";
            NativeLibrary[] runtimeLibrary = new NativeLibrary[1];
            Optional<Path> runtimeFile =
                    load(search(ScclLibrary.TPURT, runtimeName, folder), runtimeLibrary);
            if (runtimeFile.isEmpty()) {
                return missing(runtimeName, ScclLibrary.TPURT);
            }
            NativeLibrary[] scclLibrary = new NativeLibrary[1];
            Optional<Path> scclFile =
                    load(search(ScclLibrary.SCCL, "libsccl.so", folder), scclLibrary);
            if (scclFile.isEmpty()) {
                return missing("libsccl.so", ScclLibrary.SCCL);
            }
            sccl = scclLibrary[0];
            Native.register(Tpudnn.class, dnn);
            Native.register(Tpurt.class, runtimeLibrary[0]);
            Native.register(Sccl.class, sccl);
            messages = scclFunction("scclSend").isPresent() && scclFunction("scclRecv").isPresent();
            if (messages) {
                Native.register(ScclMessages.class, sccl);
            }
            module = findModule(folder, chip);
            return start(scclFile.get(), chip);
        } catch (LinkageError | RuntimeException e) {
            return unavailable("the libraries do not work: " + LibrarySearch.messages(e));
        }
    }

    /** Tries the chips one after the other, as the vendor's plugin does, or that of CHIP_ARCH. */
    private Optional<Path> loadDnn() {
        String chosen = environment.getOrDefault("CHIP_ARCH", "");
        List<String> names = new ArrayList<>();
        for (String chip : chosen.isEmpty() ? CHIPS : List.of(chosen)) {
            names.add("libtpudnn." + chip + ".so");
        }
        names.add("libtpudnn.so");
        NativeLibrary[] library = new NativeLibrary[1];
        for (String name : names) {
            LibrarySearch search = search(ScclLibrary.TPUDNN, name, null);
            Optional<Path> file =
                    search.load(candidate -> library[0] = loadFirst(candidate), tried);
            if (file.isPresent()) {
                dnn = library[0];
                return file;
            }
            if (search.candidates().size() == 1
                    && ScclLibrary.TPUDNN.named(properties, environment).isPresent()) {
                break;
            }
        }
        return Optional.empty();
    }

    /** The chip in the name of a wheel's libtpudnn, or "". */
    private static String chip(Path dnnFile) {
        Matcher named = CHIP_IN_NAME.matcher(dnnFile.getFileName().toString());
        return named.matches() ? named.group(1) : "";
    }

    /** Loads the first library, after the variables are set that all of them read. */
    private NativeLibrary loadFirst(Path candidate) {
        Map<String, String> variables =
                PluginVariables.of(
                        chip(candidate), candidate.toAbsolutePath().getParent(), environment);
        PluginVariables.set(variables);
        try {
            return NativeLibrary.getInstance(candidate.toString());
        } catch (UnsatisfiedLinkError e) {
            PluginVariables.unset(variables);
            throw e;
        }
    }

    private LibrarySearch search(ScclLibrary library, String fileName, Path beside) {
        return library.search(fileName, beside, properties, environment);
    }

    /** JNA's default flags are RTLD_LAZY and RTLD_GLOBAL, which libsccl needs of the other two. */
    private Optional<Path> load(LibrarySearch search, NativeLibrary[] library) {
        return search.load(file -> library[0] = NativeLibrary.getInstance(file.toString()), tried);
    }

    /**
     * Finds the kernels that a handle on a stream requires. It tries, in this order: the file that
     * the user names, the kernels inside the vendor's plugin beside the libraries (in wheels since
     * July 2024), the only file of kernels there.
     */
    private Optional<KernelModule> findModule(Path folder, String chip) {
        String named =
                properties.getProperty(
                        MODULE_PROPERTY, environment.getOrDefault(MODULE_VARIABLE, ""));
        if (!named.isEmpty()) {
            return Optional.of(KernelModule.ofFile(PathSetting.of("the kernel module", named)));
        }
        return findEmbedded(
                        folder.resolve("libtorch_tpu" + (chip.isEmpty() ? "" : ".") + chip + ".so"))
                .or(() -> findOnlyFile(folder));
    }

    private Optional<KernelModule> findEmbedded(Path plugin) {
        if (!Files.exists(plugin)) {
            tried.add(plugin + ": does not exist");
            return Optional.empty();
        }
        try {
            Optional<KernelModule> found = KernelModule.insideOf(plugin);
            tried.add(plugin + ": " + (found.isPresent() ? "has" : "exports no") + " kernels");
            return found;
        } catch (IOException | RuntimeException e) {
            tried.add(plugin + ": its kernels cannot be read: " + e);
            return Optional.empty();
        }
    }

    private Optional<KernelModule> findOnlyFile(Path folder) {
        List<Path> found = new ArrayList<>();
        try (DirectoryStream<Path> files = Files.newDirectoryStream(folder, "*kernel_module*.so")) {
            files.forEach(found::add);
        } catch (IOException e) {
            tried.add(folder + ": its kernel modules cannot be listed: " + e);
        }
        if (found.size() != 1) {
            tried.add(folder + ": has " + found.size() + " files *kernel_module*.so, not one");
        }
        return found.size() == 1
                ? Optional.of(KernelModule.ofFile(found.get(0)))
                : Optional.empty();
    }

    private Availability start(Path path, String chip) {
        int code = Tpurt.tpuInit();
        if (code != 0) {
            return unavailable("tpuInit failed: " + TpuErrors.runtimeText(code));
        }
        try (Memory count = new Memory(Integer.BYTES)) {
            code = Tpurt.tpuGetDeviceCount(com.sun.jna.Pointer.nativeValue(count));
            if (code != 0) {
                return unavailable("tpuGetDeviceCount failed: " + TpuErrors.runtimeText(code));
            }
            deviceCount = count.getInt(0);
        }
        if (deviceCount == 0 && environment.containsKey("TPU_EMULATOR_PATH")) {
            // The emulator has no device files to count; the vendor's plugin does the same.
            String local = environment.getOrDefault("LOCAL_WORLD_SIZE", "1");
            deviceCount =
                    Integer.parseInt(
                            environment.getOrDefault("OMPI_COMM_WORLD_SIZE", local).strip());
        }
        if (deviceCount == 0) {
            return unavailable("the libraries work, but there is no TPU; is the driver loaded?");
        }
        if (module.isEmpty()) {
            return unavailable(
                    "the kernels that SCCL's calls on a stream need were not found; install a"
                            + " torch_tpu of July 2024 or later, whose libtorch_tpu"
                            + (chip.isEmpty() ? "" : "." + chip)
                            + ".so has them, or name the file of kernels of this chip in -D"
                            + MODULE_PROPERTY
                            + " or in "
                            + MODULE_VARIABLE);
        }
        runtime = new TpuRuntime(deviceCount, module.get());
        String version = "unknown" + (chip.isEmpty() ? "" : " for " + chip);
        return new Availability.Available(version, path.toString());
    }

    private Availability missing(String name, ScclLibrary library) {
        return unavailable(
                name
                        + " was not found; install Sophgo's torch_tpu or TPU SDK, set LD_LIBRARY_PATH,"
                        + " or name the file in -D"
                        + library.property
                        + " or in "
                        + library.variable);
    }

    private Availability unavailable(String reason) {
        return new Availability.Unavailable(reason, tried);
    }
}
