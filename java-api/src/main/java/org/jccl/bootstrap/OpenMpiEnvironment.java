package org.jccl.bootstrap;

import java.util.Map;
import org.jccl.internal.rendezvous.RankVariables;

/**
 * Open MPI's {@code mpirun}. It does not name the host of the store: a group that needs one is
 * configured by {@code mpirun -x MASTER_ADDR=... -x MASTER_PORT=...}.
 */
final class OpenMpiEnvironment implements ClusterEnvironment {

    @Override
    public String name() {
        return "Open MPI";
    }

    @Override
    public boolean detect(Map<String, String> environment) {
        return RankVariables.required(environment).containsKey("OMPI_COMM_WORLD_RANK")
                || environment.containsKey("OMPI_COMM_WORLD_SIZE");
    }

    @Override
    public Membership read(Map<String, String> environment) {
        MembershipReader reader = new MembershipReader(name(), environment);
        int rank = reader.required(0, "rank, as mpirun does", "OMPI_COMM_WORLD_RANK");
        int worldSize =
                reader.required(1, "number of ranks, as mpirun does", "OMPI_COMM_WORLD_SIZE");
        reader.mustAgree(RankVariables.RANK, rank, "OMPI_COMM_WORLD_RANK");
        reader.mustAgree(RankVariables.WORLD_SIZE, worldSize, "OMPI_COMM_WORLD_SIZE");
        return reader.local(
                        reader.optional(0, "OMPI_COMM_WORLD_LOCAL_RANK"),
                        reader.optional(1, "OMPI_COMM_WORLD_LOCAL_SIZE"))
                .master()
                .membership(rank, worldSize);
    }
}
