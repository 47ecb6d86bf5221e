package org.jccl.bootstrap;

import java.util.Map;
import org.jccl.internal.rendezvous.RankVariables;

/** PyTorch's {@code torchrun}, as in {@code torchrun --no-python java ...}. */
final class TorchrunEnvironment implements ClusterEnvironment {

    @Override
    public String name() {
        return "torchrun";
    }

    @Override
    public boolean detect(Map<String, String> environment) {
        return RankVariables.required(environment).containsKey(RankVariables.TORCHELASTIC_RUN_ID);
    }

    @Override
    public Membership read(Map<String, String> environment) {
        return read(name(), environment);
    }

    static Membership read(String launcher, Map<String, String> environment) {
        MembershipReader reader = new MembershipReader(launcher, environment);
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
