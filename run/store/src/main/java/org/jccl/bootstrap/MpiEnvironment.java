package org.jccl.bootstrap;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jccl.internal.rendezvous.RankVariables;

/**
 * A launcher of MPI programs. It does not name the host of the store: a group that needs one is
 * configured by {@code mpirun -x MASTER_ADDR=... -x MASTER_PORT=...} (Open MPI) or {@code mpiexec
 * -env MASTER_ADDR ... -env MASTER_PORT ...} (Hydra).
 *
 * @param name the name of the launcher
 * @param command its command, for messages
 * @param rank the variable of the rank
 * @param size the variable of the world size
 * @param localRank the variables of the rank on this host; the first that is set is used
 * @param localSize the variable of the number of ranks on this host, or empty
 * @param jobId the variable of the launcher's id of the job, or the option of the parent process of
 *     the ranks that has the address of the launcher; empty if there is none
 * @param sharedWith variables of other launchers that also set rank and size, but not the local
 *     rank
 */
record MpiEnvironment(
        String name,
        String command,
        String rank,
        String size,
        List<String> localRank,
        String localSize,
        String jobId,
        List<String> sharedWith)
        implements ClusterEnvironment {

    private static final String SLURM_RANK = "SLURM_PROCID";
    private static final String FLUX_RANK = "FLUX_TASK_RANK";
    private static final String PALS_RANK = "PALS_RANKID";

    /** Open MPI's manual, "Environment variables set for MPI applications". */
    static final MpiEnvironment OPEN_MPI =
            new MpiEnvironment(
                    "Open MPI",
                    "mpirun",
                    "OMPI_COMM_WORLD_RANK",
                    "OMPI_COMM_WORLD_SIZE",
                    List.of("OMPI_COMM_WORLD_LOCAL_RANK"),
                    "OMPI_COMM_WORLD_LOCAL_SIZE",
                    "PMIX_NAMESPACE",
                    List.of());

    /**
     * Hydra, the {@code mpiexec} of MPICH and Intel MPI, and ParaStation's: {@code
     * src/pm/hydra/proxy} of MPICH. Others that speak PMI set the first two variables.
     */
    static final MpiEnvironment HYDRA =
            new MpiEnvironment(
                    "MPICH (Hydra)",
                    "mpiexec",
                    "PMI_RANK",
                    "PMI_SIZE",
                    List.of("MPI_LOCALRANKID", "PMI_LOCAL_RANK"),
                    "MPI_LOCALNRANKS",
                    "--control-port",
                    List.of(SLURM_RANK, FLUX_RANK, PALS_RANK));

    /** MVAPICH's {@code mpirun_rsh}: its user guide, "mpirun_rsh parameters". */
    static final MpiEnvironment MVAPICH =
            new MpiEnvironment(
                    "MVAPICH",
                    "mpirun_rsh",
                    "MV2_COMM_WORLD_RANK",
                    "MV2_COMM_WORLD_SIZE",
                    List.of("MV2_COMM_WORLD_LOCAL_RANK"),
                    "MV2_COMM_WORLD_LOCAL_SIZE",
                    "",
                    List.of());

    /** IBM's Job Step Manager under LSF, as PyTorch Lightning's {@code LSFEnvironment} reads it. */
    static final MpiEnvironment JSM =
            new MpiEnvironment(
                    "LSF (jsrun)",
                    "jsrun",
                    "JSM_NAMESPACE_RANK",
                    "JSM_NAMESPACE_SIZE",
                    List.of("JSM_NAMESPACE_LOCAL_RANK"),
                    "JSM_NAMESPACE_LOCAL_SIZE",
                    "",
                    List.of());

    /** Flux: flux-environment(7). Its tasks may also have variables of Slurm, which started it. */
    static final MpiEnvironment FLUX =
            new MpiEnvironment(
                    "Flux",
                    "flux run",
                    FLUX_RANK,
                    "FLUX_JOB_SIZE",
                    List.of("FLUX_TASK_LOCAL_ID"),
                    "",
                    "FLUX_JOB_ID",
                    List.of());

    /**
     * Cray's PALS: the examples of Argonne's GettingStarted. Slurm on a Cray also sets its rank.
     */
    static final MpiEnvironment PALS =
            new MpiEnvironment(
                    "Cray PALS",
                    "mpiexec",
                    PALS_RANK,
                    "PMI_SIZE",
                    List.of("PALS_LOCAL_RANKID", "PMI_LOCAL_RANK"),
                    "PMI_LOCAL_SIZE",
                    "PALS_APID",
                    List.of());

    @Override
    public boolean detect(Map<String, String> environment) {
        boolean isSet =
                RankVariables.required(environment).containsKey(rank)
                        || isPmi(rank) == isPmi(size) && environment.containsKey(size);
        return isSet
                && (environment.containsKey(localRank.get(0))
                        || sharedWith.stream().noneMatch(environment::containsKey));
    }

    /** Several launchers set these, so that a size of PMI does not tell that PALS set it. */
    private static boolean isPmi(String variable) {
        return variable.startsWith("PMI_");
    }

    @Override
    public Membership read(Map<String, String> environment) {
        MembershipReader reader = new MembershipReader(name, environment);
        int ownRank = reader.required(0, "rank, as " + command + " does", rank);
        int worldSize = reader.required(1, "number of ranks, as " + command + " does", size);
        reader.mustAgree(RankVariables.RANK, ownRank, rank);
        reader.mustAgree(RankVariables.WORLD_SIZE, worldSize, size);
        return reader.local(
                        reader.optional(0, localRank.toArray(String[]::new)),
                        localWorldSize(reader))
                .master()
                .membership(ownRank, worldSize);
    }

    private int localWorldSize(MembershipReader reader) {
        return localSize.isEmpty() ? MembershipReader.UNKNOWN : reader.optional(1, localSize);
    }

    /** Hydra sets no variable, but its proxies on all hosts know the address of mpiexec. */
    @Override
    public Optional<String> jobId(Map<String, String> environment) {
        if (jobId.isEmpty()) {
            return Optional.empty();
        }
        Optional<String> id =
                jobId.startsWith("-")
                        ? optionOfParent(jobId)
                        : new MembershipReader(name, environment).text(jobId);
        return id.map(value -> jobId + "=" + value);
    }

    private static Optional<String> optionOfParent(String option) {
        Optional<ProcessHandle> parent = ProcessHandle.current().parent();
        while (parent.isPresent()) {
            List<String> words = List.of(parent.get().info().arguments().orElse(new String[0]));
            int at = words.indexOf(option);
            if (at >= 0 && at + 1 < words.size()) {
                return Optional.of(words.get(at + 1));
            }
            parent = parent.get().parent();
        }
        return Optional.empty();
    }
}
