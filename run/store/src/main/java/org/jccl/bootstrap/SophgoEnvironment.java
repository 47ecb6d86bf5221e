package org.jccl.bootstrap;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jccl.bootstrap.RankTableSource.LocalRank;
import org.jccl.internal.rendezvous.RankVariables;

/**
 * Sophgo's {@code RANK}, {@code WORLD_SIZE}, {@code LOCAL_RANK} and {@code CHIP_MAP}, a list of the
 * chips of this host, one for each local rank. Missing values are taken from a rank table.
 */
final class SophgoEnvironment implements ClusterEnvironment {

    @Override
    public String name() {
        return "Sophgo";
    }

    @Override
    public boolean detect(Map<String, String> environment) {
        return RankVariables.required(environment).containsKey("CHIP_MAP");
    }

    @Override
    public Membership read(Map<String, String> environment) {
        MembershipReader reader = new MembershipReader(name(), environment);
        int rank = reader.required(0, "rank of this process", RankVariables.RANK);
        Optional<List<LocalRank>> table = reader.rankTable();
        int worldSize =
                reader.requiredOr(
                        table.map(List::size), 1, "number of ranks", RankVariables.WORLD_SIZE);
        int localRank =
                reader.requiredOr(
                        table.filter(ranks -> rank >= 0 && rank < ranks.size())
                                .map(ranks -> ranks.get(rank).localRank()),
                        0,
                        "rank on this host",
                        RankVariables.LOCAL_RANK);
        int chips = reader.text("CHIP_MAP").map(map -> map.split(",").length).orElse(0);
        if (localRank >= chips) {
            reader.problem(
                    "CHIP_MAP names %s chips, none for LOCAL_RANK=%s: list one chip a local rank, for instance CHIP_MAP=0,1,2,3"
                            .formatted(chips, localRank));
        }
        return reader.local(localRank, reader.optional(1, RankVariables.LOCAL_WORLD_SIZE))
                .master()
                .membership(rank, worldSize);
    }
}
