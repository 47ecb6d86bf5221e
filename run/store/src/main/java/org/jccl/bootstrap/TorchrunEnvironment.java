package org.jccl.bootstrap;

import java.util.Map;
import org.jccl.internal.rendezvous.RankVariables;

/**
 * PyTorch's {@code torchrun}, as in {@code torchrun --no-python java ...}, and {@code jccl run},
 * which sets the same variables and its own id.
 *
 * @param name the name of the launcher
 * @param runId the variable that only this launcher sets
 */
record TorchrunEnvironment(String name, String runId) implements ClusterEnvironment {

    @Override
    public boolean detect(Map<String, String> environment) {
        return RankVariables.required(environment).containsKey(runId);
    }

    @Override
    public Membership read(Map<String, String> environment) {
        MembershipReader reader = new MembershipReader(name, environment);
        int rank = reader.required(0, "rank of this process", RankVariables.RANK);
        int worldSize = reader.required(1, "number of ranks", RankVariables.WORLD_SIZE);
        int localRank = reader.required(0, "rank on this host", RankVariables.LOCAL_RANK);
        int localWorldSize = reader.optional(1, RankVariables.LOCAL_WORLD_SIZE);
        return reader.local(localRank, localWorldSize)
                .requiredMaster()
                .agentStore()
                .restarts(RankVariables.RESTART_COUNT)
                .membership(rank, worldSize);
    }
}
