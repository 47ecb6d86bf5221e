package org.jccl.bootstrap;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jccl.internal.rendezvous.RankVariables;

/**
 * A launcher of an MPI. It does not name the host of the store: a group that needs one is
 * configured by {@code mpirun -x MASTER_ADDR=... -x MASTER_PORT=...} (Open MPI) or {@code mpiexec
 * -env MASTER_ADDR ... -env MASTER_PORT ...} (Hydra).
 *
 * @param name the name of the launcher
 * @param command its command, for messages
 * @param rank the variable of the rank
 * @param size the variable of the world size
 * @param localRank the variable of the rank on this host
 * @param localSize the variable of the number of ranks on this host
 * @param jobId the variable of the launcher's id of the job, or the option of the parent process of
 *     the ranks that has the address of the launcher
 * @param sharedWithSlurm whether Slurm's own plugin also sets the variables of rank and size, but
 *     not that of the local rank
 */
record MpiEnvironment(
        String name,
        String command,
        String rank,
        String size,
        String localRank,
        String localSize,
        String jobId,
        boolean sharedWithSlurm)
        implements ClusterEnvironment {

    /** Open MPI's {@code mpirun}. */
    static final MpiEnvironment OPEN_MPI =
            new MpiEnvironment(
                    "Open MPI",
                    "mpirun",
                    "OMPI_COMM_WORLD_RANK",
                    "OMPI_COMM_WORLD_SIZE",
                    "OMPI_COMM_WORLD_LOCAL_RANK",
                    "OMPI_COMM_WORLD_LOCAL_SIZE",
                    "PMIX_NAMESPACE",
                    false);

    /** Hydra, the {@code mpiexec} of MPICH and Intel MPI. */
    static final MpiEnvironment HYDRA =
            new MpiEnvironment(
                    "MPICH (Hydra)",
                    "mpiexec",
                    "PMI_RANK",
                    "PMI_SIZE",
                    "MPI_LOCALRANKID",
                    "MPI_LOCALNRANKS",
                    "--control-port",
                    true);

    @Override
    public boolean detect(Map<String, String> environment) {
        boolean isSet =
                RankVariables.required(environment).containsKey(rank)
                        || environment.containsKey(size);
        return isSet
                && (!sharedWithSlurm
                        || environment.containsKey(localRank)
                        || !environment.containsKey("SLURM_PROCID"));
    }

    @Override
    public Membership read(Map<String, String> environment) {
        MembershipReader reader = new MembershipReader(name, environment);
        int ownRank = reader.required(0, "rank, as " + command + " does", rank);
        int worldSize = reader.required(1, "number of ranks, as " + command + " does", size);
        reader.mustAgree(RankVariables.RANK, ownRank, rank);
        reader.mustAgree(RankVariables.WORLD_SIZE, worldSize, size);
        return reader.local(reader.optional(0, localRank), reader.optional(1, localSize))
                .master()
                .membership(ownRank, worldSize);
    }

    /** Hydra sets no variable, but its proxies on all hosts know the address of mpiexec. */
    @Override
    public Optional<String> jobId(Map<String, String> environment) {
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
