package org.jccl.hccl;

import com.sun.jna.Memory;
import com.sun.jna.NativeLibrary;
import com.sun.jna.Pointer;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jccl.Availability;
import org.jccl.FailureContext;
import org.jccl.JcclException;
import org.jccl.UsageException;
import org.jccl.spi.support.LibrarySearch;
import org.jccl.spi.support.NativeLibraries;

/** CANN's libraries, loaded by absolute path once in a process. */
final class HcclLibraries {

    /**
     * The variable that makes {@code libascend_trace} leave the JVM's signal handlers unchanged.
     */
    static final String SIGNAL_VARIABLE = "ASCEND_COREDUMP_SIGNAL";

    private static final String NO_SIGNALS = "none";

    /** Unless this variable is 1, older releases of HCCL connect to listed hosts only. */
    private static final String EVERY_HOST_VARIABLE = "HCCL_WHITELIST_DISABLE";

    /** Where HCCL looks for the programs of devices, not beside its own file. */
    static final String HOME_VARIABLE = "ASCEND_HOME_PATH";

    private static final String TRACE_LIBRARY = "libascend_trace.so";

    private static final Set<String> PLATFORMS = Set.of("linux-x86_64", "linux-arm64");

    /** Functions of CANN 8.1, the oldest release that works, which must exist. */
    private static final List<String> REQUIRED_OF_ACL =
            List.of(
                    "aclInit",
                    "aclrtGetDeviceCount",
                    "aclrtSetDevice",
                    "aclrtGetSocName",
                    "aclrtSynchronizeDevice",
                    "aclrtCreateStreamWithConfig",
                    "aclrtSetStreamFailureMode",
                    "aclrtDestroyStream",
                    "aclrtStreamQuery",
                    "aclrtSynchronizeStream",
                    "aclrtSynchronizeStreamWithTimeout",
                    "aclrtCreateEventExWithFlag",
                    "aclrtDestroyEvent",
                    "aclrtRecordEvent",
                    "aclrtStreamWaitEvent",
                    "aclrtQueryEventStatus",
                    "aclrtSynchronizeEvent",
                    "aclrtEventElapsedTime",
                    "aclrtMalloc",
                    "aclrtFree",
                    "aclrtMallocHost",
                    "aclrtFreeHost",
                    "aclrtMemcpy",
                    "aclrtMemcpyAsync",
                    "aclsysGetCANNVersion");

    private static final List<String> REQUIRED_OF_HCCL =
            List.of(
                    "HcclGetRootInfo",
                    "HcclCommInitRootInfoConfig",
                    "HcclCommInitClusterInfoConfig",
                    "HcclCreateSubCommConfig",
                    "HcclCommDestroy",
                    "HcclGetCommConfigCapability",
                    "HcclGetCommAsyncError",
                    "HcclGetErrorString",
                    "HcclAllReduce",
                    "HcclBroadcast",
                    "HcclAllGather",
                    "HcclAllGatherV",
                    "HcclReduceScatter",
                    "HcclReduceScatterV",
                    "HcclReduce",
                    "HcclScatter",
                    "HcclSend",
                    "HcclRecv",
                    "HcclBatchSendRecv",
                    "HcclAlltoAll",
                    "HcclAlltoAllV",
                    "HcclAlltoAllVC");

    /** In newer versions, the second file has the operators. The third one makes tensors. */
    private static final List<String> OPERATOR_FILES =
            List.of("libopapi.so", "libopapi_math.so", "libnnopbase.so");

    private static final int CANN = 0;
    private static final int VERSION_BYTES = 512;
    private static final int VERSION_TEXT_BYTES = 128;

    private static final Pattern RELEASE = Pattern.compile("([0-9]{1,4})[.]([0-9]{1,4})");

    private static final System.Logger LOGGER = System.getLogger(HcclLibraries.class.getName());

    /** A process can load these libraries only once, and must remember a failure. */
    private static HcclLibraries loaded;

    private final Availability availability;
    private final Symbols acl = new Symbols(Acl.NOT_SUPPORTED);
    private final Symbols hccl = new Symbols(Hccl.NOT_SUPPORT);
    private final List<String> tried = new ArrayList<>();
    private final AclLifetime lifetime = new AclLifetime();
    private final Forming forming = new Forming();
    private Path folder;
    private int deviceCount;
    private CannRuntime runtime;
    private Chip chip;
    private String version = "";
    private Boolean operators;
    private boolean warned;

    /** The libraries of this process, loaded by the first call. Never throws. */
    static synchronized HcclLibraries get() {
        if (loaded == null) {
            loaded = new HcclLibraries(System.getProperties(), System.getenv());
        }
        return loaded;
    }

    private HcclLibraries(Properties properties, Map<String, String> environment) {
        Availability outcome;
        try {
            outcome = load(properties, environment);
        } catch (LinkageError | JcclException | IOException e) {
            outcome = unavailable("CANN was found but is not usable: " + LibrarySearch.messages(e));
        }
        this.availability = outcome;
    }

    Availability availability() {
        return availability;
    }

    int deviceCount() {
        return deviceCount;
    }

    /** The runtime of the devices, if the libraries can be used. */
    CannRuntime runtime() {
        return runtime;
    }

    /** The generation of this host's devices. */
    Chip chip() {
        return chip;
    }

    /** The lifetime of ACL in this process. */
    AclLifetime lifetime() {
        return lifetime;
    }

    /** The communicators that this process is forming. */
    Forming forming() {
        return forming;
    }

    /** Returns whether the loaded ACL or HCCL has a function. */
    boolean has(String function) {
        return acl.has(function) || hccl.has(function);
    }

    /** Returns whether CANN reports this release or a newer one. */
    boolean isAtLeast(int major, int minor) {
        Matcher numbers = RELEASE.matcher(version);
        if (!numbers.lookingAt()) {
            return false;
        }
        int given = Integer.parseInt(numbers.group(1));
        return given > major || given == major && Integer.parseInt(numbers.group(2)) >= minor;
    }

    /** Says once, before HCCL fails without a text, that a file is missing that ranks need. */
    synchronized void warnOfMissingFiles() {
        Path file = Path.of(HcclErrors.ROOT_INFO_FILE);
        if (!warned && chip == Chip.ASCEND_950 && !Files.isReadable(file)) {
            warned = true;
            LOGGER.log(
                    System.Logger.Level.WARNING,
                    "{0} is missing or not readable; on an Ascend 950, HCCL finds the topology of"
                            + " several ranks by it, and fails without it",
                    file);
        }
    }

    /** How many configuration capabilities the loaded HCCL has. */
    int configCapability() {
        return Hccl.HcclGetCommConfigCapability();
    }

    /** Returns whether CANN's operators are installed; the first call loads them. */
    synchronized boolean hasOperators() {
        if (operators == null) {
            operators = loadOperators();
        }
        return operators;
    }

    private Availability load(Properties properties, Map<String, String> environment)
            throws IOException {
        String platform = NativeLibraries.platform();
        if (!PLATFORMS.contains(platform)) {
            return unavailable("CANN needs Linux on x86_64 or aarch64, this is " + platform);
        }
        NativeLibraries.unpackPrivately("jna.tmpdir", Optional.empty());
        if (keepSignalHandlers(environment)) {
            return unavailable(
                    TRACE_LIBRARY
                            + " was loaded before by other code and has replaced the JVM's signal"
                            + " handlers; start Java with "
                            + SIGNAL_VARIABLE
                            + "=none in its environment");
        }
        if (!environment.containsKey(EVERY_HOST_VARIABLE)) {
            setVariable(EVERY_HOST_VARIABLE, "1");
        }
        for (HcclLibrary file : HcclLibrary.values()) {
            Symbols symbols = file == HcclLibrary.ACL ? acl : hccl;
            Optional<Path> found = file.search(properties, environment, symbols, tried);
            if (found.isEmpty()) {
                return unavailable(
                        file.names.get(0)
                                + " was not found; install CANN and source its set_env.sh before"
                                + " Java starts, or name the file in -D"
                                + file.property
                                + " or in "
                                + file.variable);
            }
            folder = found.get().getParent();
        }
        nameHome(environment);
        Optional<String> missing = missing(acl, REQUIRED_OF_ACL);
        missing = missing.isPresent() ? missing : missing(hccl, REQUIRED_OF_HCCL);
        if (missing.isPresent()) {
            return unavailable(
                    "the libraries lack "
                            + missing.get()
                            + ", which CANN has since 8.1; install CANN 8.1 or newer");
        }
        acl.bind(Acl.class);
        hccl.bind(Hccl.class);
        return describe(hccl.path());
    }

    /**
     * Makes CANN leave SIGSEGV and other signals to the JVM, which uses them itself.
     *
     * @return true if the library was loaded already, so that it is too late
     */
    private boolean keepSignalHandlers(Map<String, String> environment) throws IOException {
        String given = environment.get(SIGNAL_VARIABLE);
        if (NO_SIGNALS.equals(given) || NO_SIGNALS.equals(variable(SIGNAL_VARIABLE))) {
            return false;
        }
        try (Stream<String> mappings = Files.lines(Path.of("/proc/self/maps"))) {
            if (mappings.anyMatch(line -> line.endsWith("/" + TRACE_LIBRARY))) {
                return true;
            }
        }
        if (given != null) {
            LOGGER.log(
                    System.Logger.Level.WARNING,
                    "{0}={1} would let CANN replace the JVM's signal handlers; it is set to none",
                    SIGNAL_VARIABLE,
                    given);
        }
        setVariable(SIGNAL_VARIABLE, NO_SIGNALS);
        return false;
    }

    /** Tells HCCL which CANN is in use, unless the environment does. */
    private void nameHome(Map<String, String> environment) {
        Optional<Path> used = home(folder);
        String given = environment.get(HOME_VARIABLE);
        if (given == null || given.isEmpty()) {
            used.ifPresent(home -> setVariable(HOME_VARIABLE, home.toString()));
        } else if (used.isPresent() && !home(given).equals(used.get())) {
            LOGGER.log(
                    System.Logger.Level.WARNING,
                    "{0}={1} names another CANN than {2}, whose libraries are in use; HCCL takes its"
                            + " kernels from the first, which may not fit: source the set_env.sh of"
                            + " one CANN",
                    HOME_VARIABLE,
                    given,
                    used.get());
        }
    }

    private static Path home(String given) {
        try {
            return Path.of(given).toRealPath();
        } catch (IOException | InvalidPathException e) {
            return Path.of("/"); // none
        }
    }

    /**
     * The home of the CANN that a folder of libraries belongs to: the parent of {@code lib64}, or
     * of the folder of a processor around it.
     */
    static Optional<Path> home(Path libraries) {
        Path real;
        try {
            real = libraries.toRealPath();
        } catch (IOException e) {
            return Optional.empty();
        }
        if (!real.endsWith("lib64") || real.getParent() == null) {
            return Optional.empty();
        }
        Path home = real.getParent();
        boolean ofProcessor = home.toString().endsWith("-linux") && home.getParent() != null;
        return Optional.of(ofProcessor ? home.getParent() : home);
    }

    /** Returns a variable of native code, which JCCL may have set in another class loader. */
    private static String variable(String name) {
        return NativeLibrary.getProcess()
                .getFunction("getenv")
                .invokeString(new Object[] {name}, false);
    }

    /** Sets a variable for native code; {@link System#getenv} does not see it. */
    private static void setVariable(String name, String value) {
        int code =
                NativeLibrary.getProcess()
                        .getFunction("setenv")
                        .invokeInt(new Object[] {name, value, 1});
        if (code != 0) {
            throw new UsageException(
                    FailureContext.NONE, "setenv failed; start Java with " + name + "=" + value);
        }
    }

    private static Optional<String> missing(Symbols symbols, List<String> required) {
        return required.stream().filter(function -> !symbols.has(function)).findFirst();
    }

    private Availability describe(Path path) {
        int code = Acl.aclInit(0);
        if (code == Acl.COMPILING_STUB) {
            return unavailable(path + " is a stub for linking; remove devlib from the search path");
        }
        // Other code of this process may have initialised ACL.
        boolean first = code != Acl.REPEATED_INITIALIZE;
        if (first) {
            CannErrors.check(code, "aclInit");
        }
        if (has("aclFinalizeReference")) {
            lifetime.endWithTheJvm(() -> Acl.aclFinalizeReference(0), "aclFinalizeReference");
        } else if (first && has("aclFinalize")) {
            lifetime.endWithTheJvm(Acl::aclFinalize, "aclFinalize");
        }
        try (Memory out = new Memory(VERSION_BYTES)) {
            out.clear();
            CannErrors.check(
                    Acl.aclrtGetDeviceCount(Pointer.nativeValue(out)), "aclrtGetDeviceCount");
            deviceCount = out.getInt(0);
            if (deviceCount == 0) {
                return unavailable("CANN works, but there is no device");
            }
            runtime = new CannRuntime(this);
            String soc = socName();
            if (Chip.isForInference(soc)) {
                return unavailable(
                        soc
                                + " is a device for inference, on which HCCL has no broadcast,"
                                + " send or receive; use a device for training");
            }
            chip = Chip.of(soc);
            version = version(out);
            return new Availability.Available(version, path.toString());
        }
    }

    private String socName() {
        long name = Acl.aclrtGetSocName();
        return name == 0 ? "" : new Pointer(name).getString(0, StandardCharsets.US_ASCII.name());
    }

    private String version(Memory out) {
        out.clear();
        int code = Acl.aclsysGetCANNVersion(CANN, Pointer.nativeValue(out));
        if (code != Acl.SUCCESS) {
            return "unknown, " + CannErrors.of(code, "aclsysGetCANNVersion").reason();
        }
        // The text may fill its array without a final zero.
        byte[] text = out.getByteArray(0, VERSION_TEXT_BYTES);
        int length = 0;
        while (length < text.length && text[length] != 0) {
            length++;
        }
        return new String(text, 0, length, StandardCharsets.UTF_8);
    }

    private boolean loadOperators() {
        Symbols symbols = new Symbols(Acl.NOT_SUPPORTED);
        for (String name : OPERATOR_FILES) {
            Path file = folder.resolve(name);
            try {
                if (Files.exists(file)) {
                    symbols.open(file);
                }
            } catch (LinkageError e) {
                LOGGER.log(System.Logger.Level.WARNING, "cannot load " + file, e);
            }
        }
        Optional<String> missing = missing(symbols, Operators.REQUIRED);
        if (missing.isPresent()) {
            LOGGER.log(
                    System.Logger.Level.WARNING,
                    "the reduction AVG needs CANN''s operators, but {0} in {1} lack {2}",
                    OPERATOR_FILES,
                    folder,
                    missing.get());
            return false;
        }
        symbols.bind(Aclnn.class);
        return true;
    }

    private Availability unavailable(String reason) {
        return new Availability.Unavailable(reason, tried);
    }
}
