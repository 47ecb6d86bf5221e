package org.jccl.launch;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Settings of a launcher of one rank that ends at once. */
final class TestSettings {

    private TestSettings() {}

    static LaunchSettings of(int nodes, int node, int restarts, LostRanks lostRanks) {
        return new LaunchSettings(
                List.of(new LaunchRole("default", 1, List.of("true"))),
                Map.of(),
                Optional.empty(),
                nodes,
                node,
                "127.0.0.1",
                29500,
                Optional.empty(),
                "r",
                restarts,
                lostRanks,
                (rank, error, line) -> {},
                false,
                RankLogs.NONE,
                Optional.empty(),
                Duration.ZERO,
                Optional.empty());
    }
}
