package org.jccl.bootstrap;

import java.util.Map;

/** Ascend's {@code RANK_ID}, {@code RANK_SIZE} and {@code DEVICE_ID}. */
final class AscendEnvironment implements ClusterEnvironment {

    @Override
    public String name() {
        return "Ascend";
    }

    @Override
    public boolean detect(Map<String, String> environment) {
        return environment.containsKey("RANK_ID") || environment.containsKey("RANK_SIZE");
    }

    @Override
    public Membership read(Map<String, String> environment) {
        MembershipReader reader = new MembershipReader(name(), environment);
        int rank = reader.required(0, "rank of this process", "RANK_ID");
        int worldSize = reader.required(1, "number of ranks", "RANK_SIZE");
        reader.mustAgree(LaunchVariables.RANK, rank, "RANK_ID");
        reader.mustAgree(LaunchVariables.WORLD_SIZE, worldSize, "RANK_SIZE");
        return reader.local(reader.optional(0, "DEVICE_ID"), MembershipReader.UNKNOWN)
                .master()
                .membership(rank, worldSize);
    }
}
