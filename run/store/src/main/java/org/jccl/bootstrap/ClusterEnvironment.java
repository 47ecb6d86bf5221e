package org.jccl.bootstrap;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.ServiceLoader;
import org.jccl.BootstrapException;
import org.jccl.FailureContext;
import org.jccl.internal.rendezvous.RankVariables;
import org.jccl.spi.Services;

/**
 * Reads the environment variables of one launcher. Launchers with equal rules share a class. {@link
 * #detect(Map) detect} and {@link #read} access only the given map, and a file that it may name.
 * Thread-safe.
 *
 * <p>It is a service: other artifacts may provide further launchers. Their classes read variables
 * with a {@link MembershipReader}. The launchers of Ascend and Sophgo are in {@code
 * jccl-ranktable}.
 */
public interface ClusterEnvironment {

    /**
     * Returns the known launchers, in the order in which they are tried. A launcher that is often
     * started by another one precedes it: under Slurm, {@code mpirun} sets the correct rank.
     * Launchers of other artifacts follow in the order of their names. {@code RANK} and {@code
     * WORLD_SIZE} without a launcher are last.
     *
     * @return all launchers
     */
    static List<ClusterEnvironment> known() {
        List<ClusterEnvironment> known = new ArrayList<>();
        known.add(new TorchrunEnvironment("jccl run", RankVariables.JCCL_RUN_ID));
        known.add(new TorchrunEnvironment("torchrun", RankVariables.TORCHELASTIC_RUN_ID));
        known.add(MpiEnvironment.OPEN_MPI);
        known.add(MpiEnvironment.HYDRA);
        known.add(MpiEnvironment.MVAPICH);
        known.add(MpiEnvironment.JSM);
        known.add(MpiEnvironment.FLUX);
        known.add(new SlurmEnvironment());
        known.add(MpiEnvironment.PALS);
        known.add(new KubeflowEnvironment());
        Services.of(
                        ServiceLoader.load(
                                ClusterEnvironment.class,
                                ClusterEnvironment.class.getClassLoader()),
                        ServiceLoader.load(ClusterEnvironment.class))
                .stream()
                .sorted(Comparator.comparing(ClusterEnvironment::name))
                .forEach(known::add);
        known.add(new PlainEnvironment());
        return known;
    }

    /**
     * Returns the name of the launcher.
     *
     * @return for instance {@code torchrun}
     */
    String name();

    /**
     * Returns whether this launcher started the process. Checks the variables that only this
     * launcher sets, so that an incomplete environment is detected here and explained by {@link
     * #read}.
     *
     * @param environment the variables of the process
     * @return true if {@link #read} must be used
     */
    boolean detect(Map<String, String> environment);

    /**
     * Reads rank, world size and the other values.
     *
     * @param environment the variables of the process
     * @return the membership of this process
     * @throws BootstrapException if variables are missing, malformed or contradict each other; the
     *     message names them, their values and what to set
     */
    Membership read(Map<String, String> environment);

    /**
     * Waits for files that an operator may still write when the process starts, such as a rank
     * table. Returns without an error if they are not complete in time; {@link #read} reports that.
     * An interrupt ends the wait and leaves the flag set. The default does not wait.
     *
     * @param environment the variables of the process
     * @param timeout the maximum time to wait
     */
    default void awaitReady(Map<String, String> environment, Duration timeout) {}

    /**
     * Returns the launcher's own id of the job. It is equal on all ranks of a job, also if they run
     * several programs, and differs from the ids of other jobs. It keeps two jobs apart that were
     * given the same {@code MASTER_ADDR} and {@code MASTER_PORT}. {@code TORCHELASTIC_RUN_ID}, if
     * set, takes precedence. The default is no id.
     *
     * @param environment the variables of the process
     * @return the id with its origin, such as {@code PMIX_NAMESPACE=1565589505}; empty if the
     *     launcher has none
     */
    default Optional<String> jobId(Map<String, String> environment) {
        return Optional.empty();
    }

    /**
     * Reads the variables of the first launcher in {@link #known} that started this process. Logs
     * the launcher at level DEBUG.
     *
     * @param environment the variables of the process, usually {@link System#getenv()}
     * @return the membership of this process
     * @throws BootstrapException if no launcher is recognised, or the variables of the recognised
     *     one are missing, malformed or contradict each other
     * @throws org.jccl.UsageException if the environment is null
     */
    static Membership readFirst(Map<String, String> environment) {
        List<ClusterEnvironment> known = known();
        for (ClusterEnvironment launcher : known) {
            if (launcher.detect(environment)) {
                Membership membership = launcher.read(environment);
                Logger logger = System.getLogger(ClusterEnvironment.class.getName());
                if (logger.isLoggable(Level.DEBUG)) {
                    logger.log(
                            Level.DEBUG,
                            "started by {0}: {1}",
                            launcher.name(),
                            describe(membership));
                }
                return membership;
            }
        }
        throw new BootstrapException(
                FailureContext.NONE,
                "no launcher recognised: no variable of %s is set, and none of RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT. Start the program with 'jccl run --nproc-per-node N -- java ...' or by srun, set these four variables, or give an init method with rank and world size, for instance tcp://host:29500?rank=0&world_size=2%s"
                        .formatted(
                                String.join(
                                        ", ",
                                        known.stream()
                                                .filter(each -> !(each instanceof PlainEnvironment))
                                                .map(ClusterEnvironment::name)
                                                .toList()),
                                hint(environment)));
    }

    /** Returns what is probably missing. */
    private static String hint(Map<String, String> environment) {
        if (environment.containsKey("RANK_TABLE_FILE")) {
            return ". RANK_TABLE_FILE is set: its launchers are in the artifact org.jccl:jccl-ranktable (a fat jar must merge META-INF/services)";
        }
        return environment.containsKey("SLURM_JOB_ID")
                ? ". This process is in a Slurm job, but no task of srun: start it by srun"
                : "";
    }

    /** Describes a membership for the log. */
    private static String describe(Membership membership) {
        StringBuilder text =
                new StringBuilder()
                        .append("rank ")
                        .append(membership.rank())
                        .append(" of ")
                        .append(membership.worldSize());
        if (membership.localRank() >= 0) {
            text.append(", local rank ").append(membership.localRank());
        }
        membership
                .masterAddress()
                .ifPresent(
                        host -> {
                            text.append(", store on ").append(host);
                            membership
                                    .masterPort()
                                    .ifPresent(port -> text.append(" port ").append(port));
                        });
        if (membership.restarts() > 0) {
            text.append(", restart ").append(membership.restarts());
        }
        return text.toString();
    }
}
