package org.jccl.bootstrap;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.List;
import java.util.Map;
import org.jccl.BootstrapException;
import org.jccl.FailureContext;

/**
 * Reads one launcher's environment variables. There is one class a launcher; {@link #detect(Map)
 * detect} and {@link #read} look at nothing but the map they are given, and the rank table that it
 * may name, so all of this is thread-safe.
 */
public sealed interface ClusterEnvironment
        permits JcclRunEnvironment,
                TorchrunEnvironment,
                OpenMpiEnvironment,
                HydraEnvironment,
                SlurmEnvironment,
                KubeflowEnvironment,
                AscendEnvironment,
                SophgoEnvironment,
                PlainEnvironment {

    /**
     * Every launcher that is understood, in the order in which they are tried. A launcher that is
     * often started by another one comes first: under Slurm, {@code mpirun} knows the rank better.
     */
    List<ClusterEnvironment> KNOWN =
            List.of(
                    new JcclRunEnvironment(),
                    new TorchrunEnvironment(),
                    new OpenMpiEnvironment(),
                    new HydraEnvironment(),
                    new SlurmEnvironment(),
                    new KubeflowEnvironment(),
                    new AscendEnvironment(),
                    new SophgoEnvironment(),
                    new PlainEnvironment());

    /**
     * Name of the launcher.
     *
     * @return for instance {@code torchrun}
     */
    String name();

    /**
     * Whether this launcher started the process. Looks at the variables only this launcher sets, so
     * that a half-set environment is detected here and explained by {@link #read}.
     *
     * @param environment the process's variables
     * @return true when {@link #read} should be used
     */
    boolean detect(Map<String, String> environment);

    /**
     * Reads rank, world size and the rest.
     *
     * @param environment the process's variables
     * @return this process's place
     * @throws BootstrapException if variables are missing, malformed or contradict each other; the
     *     message names them, their values and what to set
     */
    Membership read(Map<String, String> environment);

    /**
     * Reads the variables of the first launcher of {@link #KNOWN} that started this process, and
     * logs which one that is, at level DEBUG.
     *
     * @param environment the process's variables, usually {@link System#getenv()}
     * @return this process's place
     * @throws BootstrapException if no launcher is recognised, or when the recognised one's
     *     variables are missing, malformed or contradict each other
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
                            placeOf(membership));
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

    /** What of a membership is known, as the log tells it. */
    private static String placeOf(Membership membership) {
        StringBuilder place =
                new StringBuilder()
                        .append("rank ")
                        .append(membership.rank())
                        .append(" of ")
                        .append(membership.worldSize());
        if (membership.localRank() >= 0) {
            place.append(", local rank ").append(membership.localRank());
        }
        membership
                .masterAddress()
                .ifPresent(
                        host -> {
                            place.append(", store on ").append(host);
                            membership
                                    .masterPort()
                                    .ifPresent(port -> place.append(" port ").append(port));
                        });
        if (membership.restarts() > 0) {
            place.append(", restart ").append(membership.restarts());
        }
        return place.toString();
    }
}
