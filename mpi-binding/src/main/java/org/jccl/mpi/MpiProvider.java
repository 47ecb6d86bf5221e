package org.jccl.mpi;

import java.time.Duration;
import java.util.Optional;
import java.util.Set;
import org.jccl.Availability;
import org.jccl.BackendOptions;
import org.jccl.BackendUnavailableException;
import org.jccl.FailureContext;
import org.jccl.spi.BackendProvider;
import org.jccl.spi.CommunicatorConfig;
import org.jccl.spi.HostCommunicator;

/**
 * MPI, for tensors in host memory, and on CUDA devices where the library is CUDA-aware. The jar
 * carries a shim for Open MPI, one for MPICH and its relatives, and one for libraries with the
 * standard ABI of MPI 5; the MPI library is the system's. It is loaded when {@link #availability()}
 * is asked for the first time, and initialised with the first group.
 *
 * <p>Started by {@code mpirun} or {@code srun}, ranks need no other environment. One process is one
 * rank.
 */
public final class MpiProvider implements BackendProvider {

    static final String NAME = "mpi";

    private static final MpiLauncher LAUNCHER = new MpiLauncher(System.getenv());

    private Availability availability;
    private boolean initialised;

    /** Creates the provider; nothing is loaded yet. */
    public MpiProvider() {}

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public Set<String> deviceTypes() {
        return Set.of("cpu");
    }

    /** Where the library is CUDA-aware, see {@link #takesCuda}. */
    @Override
    public Set<String> foreignDeviceTypes() {
        return Set.of("cuda");
    }

    /**
     * Whether the library takes tensors on CUDA devices. Initialises MPI, since the library can not
     * tell before. It becomes {@code MPIX_Query_cuda_support}; where the library has none, the
     * environment variable {@code MPICH_GPU_SUPPORT_ENABLED} tells, which Cray MPICH needs for it.
     *
     * @return true when groups of {@code cuda} devices can be made
     * @throws BackendUnavailableException when there is no MPI library
     */
    public boolean takesCuda() {
        initialise();
        return MpiNative.takesCuda() != 0;
    }

    /** Behind backends that bring their library along: a process can enter MPI only once. */
    @Override
    public int preference() {
        return -1;
    }

    @Override
    public synchronized Availability availability() {
        if (availability == null) {
            availability = MpiLibraries.load();
        }
        return availability;
    }

    /**
     * The world of the launcher. Initialises MPI. Without a launcher it is a world of one, which is
     * logged as a warning.
     *
     * @throws BackendUnavailableException when the environment says that there are several ranks,
     *     but MPI finds itself alone: the library is not the launcher's
     */
    @Override
    public Optional<World> world(Optional<BackendOptions> options) {
        initialise();
        int size = MpiErrors.answered(MpiNative.worldSize());
        if (size == 1) {
            LAUNCHER.requireAlone(library());
        }
        boolean shared = options(options).sharedWorld();
        return Optional.of(
                new World(
                        MpiErrors.answered(MpiNative.worldRank()),
                        size,
                        LAUNCHER.localRank(),
                        shared ? Optional.empty() : Optional.of(MpiProvider::broadcast)));
    }

    private static void broadcast(byte[] bytes, Duration timeout) {
        MpiErrors.answered(MpiNative.worldBroadcast(bytes, bytes.length, timeout.toMillis()));
    }

    private String library() {
        // Open MPI tells behind the version how it was packaged.
        return availability() instanceof Availability.Available found
                ? found.version().split(",", 2)[0] + ", " + found.path() + ","
                : "the library";
    }

    private synchronized void initialise() {
        requireAvailable();
        if (initialised) {
            return;
        }
        LAUNCHER.requireProcessManager(library());
        if (MpiErrors.answered(MpiNative.init(LAUNCHER.localSize())) == MpiNative.INITIALISED_NOW) {
            Runtime.getRuntime().addShutdownHook(new Thread(MpiNative::exit, "jccl-mpi-finalize"));
        }
        initialised = true;
    }

    private void requireCuda(FailureContext context) {
        if (!takesCuda()) {
            throw new BackendUnavailableException(
                    context,
                    "MPI: "
                            + availability()
                            + " takes no memory of CUDA devices: MPIX_Query_cuda_support() is not"
                            + " there or says no, and MPICH_GPU_SUPPORT_ENABLED is not 1. Use a"
                            + " build with CUDA, name it with -D"
                            + MpiLibraries.PROPERTY
                            + "=PATH, or copy to host tensors and use a group of cpu");
        }
    }

    private static MpiOptions options(Optional<BackendOptions> given) {
        return BackendProvider.options(given, MpiOptions.class).orElseGet(MpiOptions::defaults);
    }

    @Override
    public HostCommunicator create(CommunicatorConfig config) {
        FailureContext context = FailureContext.ofGroup(config.groupName(), config.rank());
        initialise();
        if (!config.device().isCpu()) {
            requireCuda(context);
        }
        MpiOptions options = options(config.options());
        if (options.progressThread()) {
            MpiErrors.answered(MpiNative.startProgress());
        }
        return MpiConnector.connect(config, options, context);
    }
}
