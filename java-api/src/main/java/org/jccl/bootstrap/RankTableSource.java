package org.jccl.bootstrap;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/**
 * Reads the rank table that {@code RANK_TABLE_FILE} names, for launchers whose table says how many
 * ranks there are and which of them share a host. A service: {@link java.util.ServiceLoader} finds
 * the implementation, which is in the artifact {@code jccl-ranktable}. Users call {@link
 * Rendezvous} or {@link ClusterEnvironment}.
 *
 * <p>An implementation must be thread-safe.
 */
public interface RankTableSource {

    /**
     * A rank among those of its host.
     *
     * @param localRank number of the rank on its host, from 0
     * @param localWorldSize number of ranks on that host
     */
    record LocalPlace(int localRank, int localWorldSize) {}

    /**
     * Waits while a table is still being made. Returns at once if the file has any other content or
     * cannot be read. Interrupting the thread ends the wait and leaves the flag set.
     *
     * @param file the table
     * @param timeout how long at most, not negative
     * @return false if the table is still not complete
     */
    boolean awaitCompleted(Path file, Duration timeout);

    /**
     * Reads a table.
     *
     * @param file the value of {@code RANK_TABLE_FILE}, not blank
     * @return one place for each rank, in the order of ranks
     * @throws org.jccl.JcclException if the file cannot be read or the table is not valid; the
     *     message lists all that is wrong
     */
    List<LocalPlace> read(String file);
}
