package org.jccl.ranktable.service;

import java.util.Map;
import java.util.Optional;
import org.jccl.bootstrap.Membership;
import org.jccl.bootstrap.MembershipReader;
import org.jccl.internal.rendezvous.RankVariables;
import org.jccl.ranktable.RankTable;

/**
 * Sophgo's {@code RANK}, {@code WORLD_SIZE}, {@code LOCAL_RANK} and {@code CHIP_MAP}, a list of the
 * chips of this host, one for each local rank. Missing values are taken from a rank table.
 */
public final class SophgoEnvironment extends TableEnvironment {

    /** For the service loader. */
    public SophgoEnvironment() {}

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
        Optional<RankTable> table = table(reader, environment);
        int worldSize =
                reader.requiredOr(
                        table.map(RankTable::size), 1, "number of ranks", RankVariables.WORLD_SIZE);
        int localRank =
                reader.requiredOr(
                        tableOf(table, rank).map(ranks -> ranks.localRank(rank)),
                        0,
                        "rank on this host",
                        RankVariables.LOCAL_RANK);
        int chips = reader.text("CHIP_MAP").map(map -> map.split(",").length).orElse(0);
        if (localRank >= chips) {
            reader.problem(
                    "CHIP_MAP names %s chips, none for LOCAL_RANK=%s: list one chip for each local rank, for instance CHIP_MAP=0,1,2,3"
                            .formatted(chips, localRank));
        }
        return reader.local(localRank, reader.optional(1, RankVariables.LOCAL_WORLD_SIZE))
                .master()
                .membership(rank, worldSize);
    }
}
