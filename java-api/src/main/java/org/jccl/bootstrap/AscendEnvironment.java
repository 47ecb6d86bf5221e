package org.jccl.bootstrap;

import java.util.Map;
import java.util.Optional;
import org.jccl.ranktable.RankTable;

/**
 * Ascend's {@code RANK_ID}, {@code RANK_SIZE} and {@code DEVICE_ID}. A rank table says how many
 * ranks there are and which of them are on this host; {@code DEVICE_ID} does so only where each
 * host uses its devices from 0 on.
 */
final class AscendEnvironment implements ClusterEnvironment {

    @Override
    public String name() {
        return "Ascend";
    }

    @Override
    public boolean detect(Map<String, String> environment) {
        return LaunchVariables.given(environment).containsKey("RANK_ID")
                || environment.containsKey("RANK_SIZE");
    }

    @Override
    public Membership read(Map<String, String> environment) {
        MembershipReader reader = new MembershipReader(name(), environment);
        int rank = reader.required(0, "rank of this process", "RANK_ID");
        Optional<RankTable> table = reader.rankTable();
        int worldSize =
                reader.requiredOr(table.map(RankTable::size), 1, "number of ranks", "RANK_SIZE");
        table.ifPresent(ranks -> reader.mustAgree("RANK_SIZE", ranks.size(), RankTable.VARIABLE));
        reader.mustAgree(LaunchVariables.RANK, rank, "RANK_ID");
        reader.mustAgree(LaunchVariables.WORLD_SIZE, worldSize, "RANK_SIZE");
        table.filter(ranks -> rank >= 0 && rank < ranks.size())
                .ifPresentOrElse(
                        ranks -> reader.local(ranks, rank),
                        () ->
                                reader.local(
                                        reader.optional(0, "DEVICE_ID"), MembershipReader.UNKNOWN));
        return reader.master().membership(rank, worldSize);
    }
}
