package org.jccl.bootstrap;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.SortedMap;
import java.util.stream.IntStream;
import org.jccl.StoreTimeoutException;
import org.jccl.spi.Arrivals;
import org.jccl.spi.LocalHost;
import org.jccl.spi.WaitLog;
import org.jccl.store.TcpStore;

/**
 * The barrier of a rendezvous: each rank registers in the store, and the rank that serves the store
 * waits for all of them.
 *
 * @param store the store of all ranks
 * @param member this rank
 */
record WorkerBarrier(TcpStore store, Membership member) {

    /** Set by each rank that has reached the store, except ranks that do not run JCCL. */
    private static final String HERE = "jccl/here/";

    /**
     * Registers this rank and, if it serves the store, waits for the others.
     *
     * @throws StoreTimeoutException if not every rank comes in time; the message names the missing
     *     ones
     */
    void pass(boolean serves, Duration timeout) {
        store.set(HERE + member.rank(), LocalHost.name().getBytes(StandardCharsets.UTF_8));
        store.joinWorkers();
        if (serves) {
            try {
                WaitLog.during(
                        "rank 0",
                        0,
                        member.worldSize(),
                        this::hostsOf,
                        () -> {
                            store.awaitWorkers(member.worldSize(), timeout);
                            return member;
                        });
            } catch (StoreTimeoutException e) {
                throw new StoreTimeoutException(e.reason() + ". Missing: " + missing(), e);
            }
        }
    }

    /** Returns the hosts of the ranks that have come. */
    private SortedMap<Integer, String> hostsOf(List<Integer> ranks) {
        return Arrivals.present(store, ranks, rank -> HERE + rank);
    }

    /** Ranks of another API are counted, but do not register. */
    private String missing() {
        List<Integer> all = IntStream.range(0, member.worldSize()).boxed().toList();
        List<Integer> silent = Arrivals.missing(store, all, rank -> HERE + rank);
        return "ranks " + Arrivals.ranks(silent) + ", except ranks that do not run JCCL";
    }
}
