package org.jccl.ranktable.service;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.jccl.bootstrap.RankTableSource;
import org.jccl.ranktable.RankTable;

/** What {@code org.jccl.bootstrap} asks of a rank table. */
public final class TableSource implements RankTableSource {

    /** For the service loader. */
    public TableSource() {}

    @Override
    public boolean awaitCompleted(Path file, Duration timeout) {
        return RankTable.awaitCompleted(file, timeout);
    }

    @Override
    public List<LocalRank> read(String file) {
        RankTable table = RankTable.fromEnvironment(Map.of(RankTable.VARIABLE, file)).orElseThrow();
        return table.entries().stream()
                .map(entry -> new LocalRank(entry.localRank(), table.ranksOf(entry.node()).size()))
                .toList();
    }
}
