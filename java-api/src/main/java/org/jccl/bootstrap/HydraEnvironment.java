package org.jccl.bootstrap;

import java.util.Map;
import org.jccl.internal.rendezvous.RankVariables;

/**
 * Hydra, the {@code mpiexec} of MPICH and Intel MPI. It does not name the host of the store: a
 * group that needs one is configured by {@code mpiexec -env MASTER_ADDR ... -env MASTER_PORT ...}.
 */
final class HydraEnvironment implements ClusterEnvironment {

    @Override
    public String name() {
        return "MPICH (Hydra)";
    }

    /** Slurm's own PMI plugin also sets PMI_RANK. Only Hydra sets local ranks. */
    @Override
    public boolean detect(Map<String, String> environment) {
        boolean pmi =
                RankVariables.required(environment).containsKey("PMI_RANK")
                        || environment.containsKey("PMI_SIZE");
        return pmi
                && (environment.containsKey("MPI_LOCALRANKID")
                        || !environment.containsKey("SLURM_PROCID"));
    }

    @Override
    public Membership read(Map<String, String> environment) {
        MembershipReader reader = new MembershipReader(name(), environment);
        int rank = reader.required(0, "rank, as mpiexec does", "PMI_RANK");
        int worldSize = reader.required(1, "number of ranks, as mpiexec does", "PMI_SIZE");
        reader.mustAgree(RankVariables.RANK, rank, "PMI_RANK");
        reader.mustAgree(RankVariables.WORLD_SIZE, worldSize, "PMI_SIZE");
        return reader.local(
                        reader.optional(0, "MPI_LOCALRANKID"),
                        reader.optional(1, "MPI_LOCALNRANKS"))
                .master()
                .membership(rank, worldSize);
    }
}
