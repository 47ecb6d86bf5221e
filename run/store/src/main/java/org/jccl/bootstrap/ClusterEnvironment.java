package org.jccl.bootstrap;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.List;
import java.util.Map;
import org.jccl.BootstrapException;
import org.jccl.FailureContext;
import org.jccl.internal.rendezvous.RankVariables;

/**
 * Reads the environment variables of one launcher. Launchers with equal rules share a class. {@link
 * #detect(Map) detect} and {@link #read} access only the given map, and the rank table that it may
 * name. Thread-safe.
 */
public sealed interface ClusterEnvironment
        permits TorchrunEnvironment,
                MpiEnvironment,
                SlurmEnvironment,
                KubeflowEnvironment,
                AscendEnvironment,
                SophgoEnvironment,
                PlainEnvironment {

    /**
     * The known launchers, in the order in which they are tried. A launcher that is often started
     * by another one comes first: under Slurm, {@code mpirun} knows the rank better.
     */
    List<ClusterEnvironment> KNOWN =
            List.of(
                    new TorchrunEnvironment("jccl run", RankVariables.JCCL_RUN_ID),
                    new TorchrunEnvironment("torchrun", RankVariables.TORCHELASTIC_RUN_ID),
                    MpiEnvironment.OPEN_MPI,
                    MpiEnvironment.HYDRA,
                    new SlurmEnvironment(),
                    new KubeflowEnvironment(),
                    new AscendEnvironment(),
                    new SophgoEnvironment(),
                    new PlainEnvironment());

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
     * Reads the variables of the first launcher in {@link #KNOWN} that started this process. Logs
     * the launcher at level DEBUG.
     *
     * @param environment the variables of the process, usually {@link System#getenv()}
     * @return the membership of this process
     * @throws BootstrapException if no launcher is recognised, or the variables of the recognised
     *     one are missing, malformed or contradict each other
     * @throws org.jccl.UsageException if the environment is null
     */
    static Membership readFirst(Map<String, String> environment) {
        for (ClusterEnvironment launcher : KNOWN) {
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
                "no launcher recognised: none of RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT is set, nor a variable of %s. Start the program with 'jccl run --nproc-per-node N -- java ...' or by srun, set these four variables, or give an init method with rank and world size, for instance tcp://host:29500?rank=0&world_size=2"
                        .formatted(
                                String.join(
                                        ", ",
                                        KNOWN.stream().map(ClusterEnvironment::name).toList())));
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
