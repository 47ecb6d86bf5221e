package org.jccl.mpi;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jccl.Availability;
import org.jccl.BackendUnavailableException;
import org.jccl.spi.support.NativeLibraries;

/**
 * Finds the MPI library of the system, opens it, and loads the shim that was compiled for its
 * family. The library must belong to the launcher: another one would silently form a world of one
 * rank. The first of these rules that gives an answer decides:
 *
 * <ol>
 *   <li>the system property {@value #PROPERTY}, then the environment variable {@value #VARIABLE}: a
 *       path or a name for the linker
 *   <li>an MPI that the process has already loaded, for instance by {@code LD_PRELOAD}
 *   <li>the launcher's variables: {@code OMPI_COMM_WORLD_RANK} means Open MPI; {@code PMI_RANK} and
 *       other variables of MPICH and its relatives, without {@code PMIX_RANK}, mean MPICH
 *   <li>the linker: a library with the standard ABI of MPI 5, then Open MPI, then MPICH
 * </ol>
 *
 * <p>The name of the standard ABI does not show to which launcher the library belongs. If a
 * launcher is known, that name is tried last.
 */
final class MpiLibraries {

    /** Names the library to use. */
    static final String PROPERTY = "org.jccl.mpi.library";

    /** Names the library to use. */
    static final String VARIABLE = "JCCL_MPI_LIBRARY";

    private static final String ARTIFACT = "org.jccl:jccl-mpi";

    private static final Set<String> PLATFORMS = Set.of("linux-x86_64", "linux-arm64");

    private static final List<String> OPEN_MPI = List.of("libmpi.so.40", "libmpi.so.80");

    /** Debian's MPICH has another file name than its relatives. */
    private static final List<String> MPICH = List.of("libmpi.so.12", "libmpich.so.12");

    /** Of both, and of others. */
    private static final String STANDARD_ABI = "libmpi_abi.so.1";

    private static final List<String> MPICH_VARIABLES =
            List.of(
                    "PMI_RANK",
                    "HYDI_CONTROL_FD",
                    "MPI_LOCALRANKID",
                    "PALS_RANKID",
                    "MV2_COMM_WORLD_RANK");

    /** The shims of this process, which all providers share. */
    private static final Set<String> LOADED = new HashSet<>();

    private final List<String> tried = new ArrayList<>();

    private MpiLibraries() {}

    /** Loads everything; never throws. */
    static Availability load() {
        if (!isPlatform()) {
            return new Availability.Unavailable(
                    "the MPI shims are built for Linux on x86_64 and aarch64, this is "
                            + NativeLibraries.platform(),
                    List.of());
        }
        try {
            loadOpener();
            MpiLibraryNative.prepare();
            return new MpiLibraries().find(System.getenv());
        } catch (BackendUnavailableException e) {
            return new Availability.Unavailable(e.getMessage(), List.of());
        }
    }

    static boolean isPlatform() {
        return PLATFORMS.contains(NativeLibraries.platform());
    }

    /** Loads the part that needs no MPI library. */
    static void loadOpener() {
        loadShim(MpiLibraryNative.LIBRARY);
    }

    private static synchronized void loadShim(String name) {
        if (LOADED.contains(name)) {
            return;
        }
        NativeLibraries.load(
                ARTIFACT,
                file ->
                        MpiLibraries.class.getResourceAsStream(
                                NativeLibraries.platform() + "/" + file),
                List.of("lib" + name + ".so"),
                System::load);
        LOADED.add(name);
    }

    private Availability find(Map<String, String> environment) {
        for (String name : candidates(environment)) {
            int family = MpiLibraryNative.open(name);
            String title = name.isEmpty() ? "this process" : name;
            String text = MpiLibraryNative.text();
            if (family != MpiLibraryNative.NONE) {
                loadShim(shimOf(family));
                return new Availability.Available(MpiNative.version(), text);
            }
            tried.add(title + ": " + text);
        }
        String narrowed =
                isOfMpich(environment)
                        ? "the launcher's variables ask for MPICH or a relative, and none was"
                                + " found (srun --mpi=pmi2 sets such variables; for Open MPI use"
                                + " --mpi=pmix)"
                        : "no MPI library was found";
        return new Availability.Unavailable(
                narrowed
                        + "; install Open MPI or MPICH (Debian: libopenmpi3 or"
                        + " libmpich12), or name the library with -D"
                        + PROPERTY
                        + "=PATH or "
                        + VARIABLE
                        + "=PATH",
                tried);
    }

    private static String shimOf(int family) {
        return switch (family) {
            case MpiLibraryNative.OPEN_MPI -> MpiNative.OPEN_MPI_LIBRARY;
            case MpiLibraryNative.MPICH -> MpiNative.MPICH_LIBRARY;
            default -> MpiNative.STANDARD_ABI_LIBRARY;
        };
    }

    /** The libraries to open, in order; an empty name means the one that the process has. */
    static List<String> candidates(Map<String, String> environment) {
        if (isNamed(environment)) {
            return List.of(named(environment));
        }
        List<String> names = new ArrayList<>(List.of(""));
        boolean openMpi = isOfOpenMpi(environment);
        boolean mpich = isOfMpich(environment);
        boolean unknown = !openMpi && !mpich;
        if (unknown) {
            names.add(STANDARD_ABI);
        }
        if (!mpich) {
            names.addAll(OPEN_MPI);
        }
        if (!openMpi) {
            names.addAll(MPICH);
        }
        if (!unknown) {
            names.add(STANDARD_ABI);
        }
        return names;
    }

    /** Returns whether the user has named the library. */
    static boolean isNamed(Map<String, String> environment) {
        return !named(environment).isEmpty();
    }

    private static String named(Map<String, String> environment) {
        return System.getProperty(PROPERTY, environment.getOrDefault(VARIABLE, ""));
    }

    private static boolean isOfOpenMpi(Map<String, String> environment) {
        return environment.containsKey("OMPI_COMM_WORLD_RANK");
    }

    private static boolean isOfMpich(Map<String, String> environment) {
        return !isOfOpenMpi(environment)
                && !environment.containsKey("PMIX_RANK")
                && MPICH_VARIABLES.stream().anyMatch(environment::containsKey);
    }
}
