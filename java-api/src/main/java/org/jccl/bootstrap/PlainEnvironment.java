package org.jccl.bootstrap;

import java.util.Map;
import java.util.stream.Stream;

/** The four variables of {@code env://}, set by hand or by a launcher without a class here. */
final class PlainEnvironment implements ClusterEnvironment {

    @Override
    public String name() {
        return "RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT";
    }

    @Override
    public boolean detect(Map<String, String> environment) {
        return Stream.of(
                        LaunchVariables.RANK,
                        LaunchVariables.WORLD_SIZE,
                        LaunchVariables.MASTER_ADDR,
                        LaunchVariables.MASTER_PORT)
                .anyMatch(LaunchVariables.given(environment)::containsKey);
    }

    @Override
    public Membership read(Map<String, String> environment) {
        MembershipReader reader = new MembershipReader(name(), environment);
        int rank = reader.required(0, "rank of this process", LaunchVariables.RANK);
        int worldSize = reader.required(1, "number of ranks", LaunchVariables.WORLD_SIZE);
        return reader.local(
                        reader.optional(0, LaunchVariables.LOCAL_RANK),
                        reader.optional(1, LaunchVariables.LOCAL_WORLD_SIZE))
                .requiredMaster()
                .agentStore()
                .membership(rank, worldSize);
    }
}
