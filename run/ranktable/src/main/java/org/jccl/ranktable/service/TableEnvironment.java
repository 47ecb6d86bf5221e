package org.jccl.ranktable.service;

import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import org.jccl.bootstrap.ClusterEnvironment;
import org.jccl.bootstrap.MembershipReader;
import org.jccl.internal.checks.Require;
import org.jccl.internal.rendezvous.RankVariables;
import org.jccl.ranktable.RankTable;
import org.jccl.ranktable.RankTableException;

/**
 * A launcher whose rank table may define the number of ranks and which of them share a host. The
 * variable {@link RankTable#VARIABLE} names the table.
 */
abstract class TableEnvironment implements ClusterEnvironment {

    /** Problems of the table, but that it is not complete, are reported when it is read. */
    @Override
    public void awaitReady(Map<String, String> environment, Duration timeout) {
        String file = RankVariables.required(environment).getOrDefault(RankTable.VARIABLE, "");
        if (!Require.nonNull(timeout, "timeout").isNegative() && !file.isBlank()) {
            try {
                RankTable.awaitCompleted(Path.of(file), timeout);
            } catch (InvalidPathException e) {
                return;
            }
        }
    }

    /** An invalid table is a problem. */
    static Optional<RankTable> table(MembershipReader reader, Map<String, String> environment) {
        reader.text(RankTable.VARIABLE);
        try {
            return RankTable.fromEnvironment(environment);
        } catch (RankTableException e) {
            reader.problem(e.getMessage());
            return Optional.empty();
        }
    }

    /** Empty if the table has no such rank, which the reader reports. */
    static Optional<RankTable> tableOf(Optional<RankTable> table, int rank) {
        return table.filter(known -> rank >= 0 && rank < known.size());
    }
}
