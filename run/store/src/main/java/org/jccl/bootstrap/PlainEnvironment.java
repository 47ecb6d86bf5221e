package org.jccl.bootstrap;

import java.util.Map;
import java.util.stream.Stream;
import org.jccl.internal.rendezvous.RankVariables;

/** The four variables of {@code env://}, set by the user or by a launcher without a class here. */
final class PlainEnvironment implements ClusterEnvironment {

    @Override
    public String name() {
        return "RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT";
    }

    @Override
    public boolean detect(Map<String, String> environment) {
        return Stream.of(
                        RankVariables.RANK,
                        RankVariables.WORLD_SIZE,
                        RankVariables.MASTER_ADDR,
                        RankVariables.MASTER_PORT)
                .anyMatch(RankVariables.required(environment)::containsKey);
    }

    @Override
    public Membership read(Map<String, String> environment) {
        MembershipReader reader = new MembershipReader(name(), environment);
        int rank = reader.required(0, "rank of this process", RankVariables.RANK);
        int worldSize = reader.required(1, "number of ranks", RankVariables.WORLD_SIZE);
        return reader.local(
                        reader.optional(0, RankVariables.LOCAL_RANK),
                        reader.optional(1, RankVariables.LOCAL_WORLD_SIZE))
                .requiredMaster()
                .agentStore()
                .membership(rank, worldSize);
    }
}
