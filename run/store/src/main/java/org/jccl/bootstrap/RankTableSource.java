package org.jccl.bootstrap;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/**
 * Reads the rank table that {@code RANK_TABLE_FILE} names, for launchers whose table defines the
 * number of ranks and which of them share a host. It is a service: {@link java.util.ServiceLoader}
 * finds the implementation, which is in the artifact {@code jccl-ranktable}. Programs use {@link
 * Rendezvous} or {@link ClusterEnvironment}.
 *
 * <p>Implementations must be thread-safe.
 */
public interface RankTableSource {

    /**
     * A rank among those of its host.
     *
     * @param localRank number of the rank on its host, from 0
     * @param localWorldSize number of ranks on that host
     */
    record LocalRank(int localRank, int localWorldSize) {}

    /**
     * Waits while a table is being created. Returns at once if the file has any other content or
     * cannot be read. An interrupt ends the wait and leaves the flag set.
     *
     * @param file the table
     * @param timeout the maximum time to wait, not negative
     * @return false if the table is still not complete
     */
    boolean awaitCompleted(Path file, Duration timeout);

    /**
     * Reads a table.
     *
     * @param file the value of {@code RANK_TABLE_FILE}, not blank
     * @return one entry for each rank, in the order of ranks
     * @throws org.jccl.JcclException if the file cannot be read or the table is not valid; the
     *     message lists all problems
     */
    List<LocalRank> read(String file);
}
