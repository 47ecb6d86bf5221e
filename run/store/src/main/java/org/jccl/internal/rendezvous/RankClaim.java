package org.jccl.internal.rendezvous;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jccl.BootstrapException;
import org.jccl.FailureContext;
import org.jccl.StoreException;
import org.jccl.StoreTimeoutException;
import org.jccl.spi.Deadline;
import org.jccl.spi.LocalHost;
import org.jccl.store.TcpStore;

/**
 * The process that joins the store of rank 0 as one rank. Two jobs without ids that were given the
 * same address are found by it: their processes claim the same rank, or worlds of different sizes.
 * Until all ranks have joined, the process that comes second and rank 0 both fail. After that the
 * store belongs to a world that runs, and only the process that comes second fails.
 *
 * <p>PyTorch's ranks neither write nor read claims.
 *
 * @param rank the claimed rank
 * @param worldSize the number of ranks that this process expects
 * @param process the id of the process on its host
 * @param started when the process started, because ids are reused
 * @param host the host of the process
 */
public record RankClaim(int rank, int worldSize, long process, String started, String host) {

    private static final String KEY = "jccl/process/";

    /** Either {@link #COMPLETE} or the description of a conflict, by a compare-and-set. */
    private static final String OUTCOME = "jccl/joined";

    private static final String COMPLETE = "all";

    /** How often rank 0 checks whether there was a conflict. */
    private static final Duration CHECK = Duration.ofMillis(200);

    private static final int FIELDS = 5;

    /** Returns the claim of this process. */
    public static RankClaim of(int rank, int worldSize) {
        ProcessHandle self = ProcessHandle.current();
        return new RankClaim(rank, worldSize, self.pid(), startOf(self), LocalHost.name());
    }

    private static String startOf(ProcessHandle process) {
        return process.info().startInstant().map(Instant::toString).orElse("?");
    }

    /** Returns the initial contents of a store that this process serves. */
    public Map<String, byte[]> contents() {
        return Map.of(key(), bytes(text()));
    }

    /**
     * Registers this process as its rank.
     *
     * @throws BootstrapException if another process is this rank, or rank 0 expects another number
     *     of ranks; rank 0 fails too
     * @throws StoreException if the same is found in the store of a world that is complete; a later
     *     connection may reach the store of the right world
     */
    public void register(TcpStore store) {
        String own = text();
        String found = exchange(store, key(), "", own);
        if (!found.equals(own)) {
            RankClaim other = parse(found);
            if (!isSuccessorOf(other)) {
                fail(store, other);
            }
            exchange(store, key(), found, own);
        }
        String ofRankZero = KEY + 0;
        if (rank > 0 && store.check(List.of(ofRankZero))) {
            RankClaim zero = parse(text(store.get(ofRankZero)));
            if (zero.worldSize != worldSize) {
                fail(store, zero);
            }
        }
    }

    /**
     * Waits in rank 0, which serves the store, until all ranks have joined.
     *
     * @throws BootstrapException if two processes claim the same rank or worlds of different sizes
     * @throws StoreTimeoutException if a rank does not join in time
     */
    public void awaitAll(TcpStore store, Duration timeout) {
        Deadline deadline = Deadline.after(timeout);
        while (!haveAllJoined(store, deadline.atMost(CHECK), deadline)) {
            requireNone(store);
        }
        String outcome = exchange(store, OUTCOME, "", COMPLETE);
        if (!outcome.equals(COMPLETE)) {
            throw new BootstrapException(FailureContext.NONE, outcome);
        }
    }

    private boolean haveAllJoined(TcpStore store, Duration wait, Deadline deadline) {
        try {
            store.awaitWorkers(worldSize, wait);
            return true;
        } catch (StoreTimeoutException e) {
            if (deadline.hasPassed()) {
                throw e;
            }
            return false;
        }
    }

    private static void requireNone(TcpStore store) {
        if (store.check(List.of(OUTCOME))) {
            throw new BootstrapException(FailureContext.NONE, text(store.get(OUTCOME)));
        }
    }

    /** A restarted process has the host of the one before, which has ended. */
    private boolean isSuccessorOf(RankClaim other) {
        if (other.worldSize != worldSize || !other.host.equals(host)) {
            return false;
        }
        Optional<ProcessHandle> alive = ProcessHandle.of(other.process);
        return alive.isEmpty() || !startOf(alive.get()).equals(other.started) || isSame(other);
    }

    private boolean isSame(RankClaim other) {
        return process == other.process && started.equals(other.started);
    }

    private void fail(TcpStore store, RankClaim other) {
        String why =
                "%s and %s joined the same store, at %s:%s. Give each job its own MASTER_PORT, and the processes of a job different ranks and the same world size"
                        .formatted(other, this, store.host(), store.port());
        if (exchange(store, OUTCOME, "", why).equals(COMPLETE)) {
            throw new StoreException(
                    why + ". The first one belongs to a world that is already complete", null);
        }
        throw new BootstrapException(FailureContext.NONE, why);
    }

    private static String exchange(TcpStore store, String key, String expected, String desired) {
        return text(store.compareSet(key, bytes(expected), bytes(desired)));
    }

    private String key() {
        return KEY + rank;
    }

    private String text() {
        return "%s %s %s %s %s".formatted(rank, worldSize, process, started, host);
    }

    private static RankClaim parse(String text) {
        String[] fields = text.split(" ", FIELDS);
        try {
            return new RankClaim(
                    Integer.parseInt(fields[0]),
                    Integer.parseInt(fields[1]),
                    Long.parseLong(fields[2]),
                    fields[3],
                    fields[4]);
        } catch (NumberFormatException | ArrayIndexOutOfBoundsException e) {
            throw new StoreException(
                    "the store's entry of a rank is damaged: '%s'. Use a new store".formatted(text),
                    e);
        }
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static String text(byte[] bytes) {
        return new String(bytes, StandardCharsets.UTF_8);
    }

    @Override
    public String toString() {
        return "rank %s of %s (process %s on %s)".formatted(rank, worldSize, process, host);
    }
}
