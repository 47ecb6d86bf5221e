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
 * The provider of MPI, for tensors in host memory, and on CUDA devices if the library is
 * CUDA-aware. The jar contains a shim for Open MPI, one for MPICH and its relatives, and one for
 * libraries with the standard ABI of MPI 5. The MPI library is that of the system. The first call
 * of {@link #availability()} loads it, and the first group initialises it.
 *
 * <p>Ranks that {@code mpirun} or {@code srun} starts need no other environment. A process is one
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

    /** Returns {@code cuda}, which needs a CUDA-aware library: see {@link #takesCuda}. */
    @Override
    public Set<String> deviceTypesOfOtherBindings() {
        return Set.of("cuda");
    }

    /**
     * Returns whether the library accepts tensors on CUDA devices. This call initialises MPI,
     * because the library cannot answer before. It calls {@code MPIX_Query_cuda_support}, or reads
     * the environment variable {@code MPICH_GPU_SUPPORT_ENABLED} of Cray MPICH if the library lacks
     * that function.
     *
     * @return true if groups of {@code cuda} devices can be made
     * @throws BackendUnavailableException if there is no MPI library
     */
    public boolean takesCuda() {
        initialise();
        return MpiNative.takesCuda() != 0;
    }

    /**
     * After backends that contain their library, because a process can initialise MPI only once.
     */
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
     * Returns the world of the launcher. This call initialises MPI. Without a launcher, the world
     * has one rank, and a warning is logged.
     *
     * @throws BackendUnavailableException if the environment has several ranks but MPI finds one:
     *     the library does not belong to the launcher
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
        // Open MPI appends the name of its package to the version.
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
                            + " does not accept memory of CUDA devices: MPIX_Query_cuda_support()"
                            + " is missing or returns 0, and MPICH_GPU_SUPPORT_ENABLED is not 1."
                            + " Use a build with CUDA, name it with -D"
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
