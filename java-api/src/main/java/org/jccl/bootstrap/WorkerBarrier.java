package org.jccl.bootstrap;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.jccl.StoreTimeoutException;
import org.jccl.spi.Arrivals;
import org.jccl.spi.LocalHost;
import org.jccl.spi.WaitLog;
import org.jccl.store.TcpStore;

/**
 * The barrier of a rendezvous: each rank says that it has reached the store, and the rank that
 * serves the store waits for all of them.
 *
 * @param store of all ranks
 * @param place of this rank
 */
record WorkerBarrier(TcpStore store, Membership place) {

    /** Set by each rank that has reached the store. PyTorch's ranks do not set it. */
    private static final String HERE = "jccl/here/";

    /**
     * Says that this rank has come and, where it serves the store, waits for the others.
     *
     * @throws StoreTimeoutException if not every rank comes in time; it names the missing ones
     */
    void pass(boolean serves, Duration timeout) {
        store.set(HERE + place.rank(), LocalHost.name().getBytes(StandardCharsets.UTF_8));
        store.joinWorkers();
        if (serves) {
            try {
                WaitLog.during(
                        "rank 0",
                        0,
                        place.worldSize(),
                        this::hostsOf,
                        () -> {
                            store.awaitWorkers(place.worldSize(), timeout);
                            return place;
                        });
            } catch (StoreTimeoutException e) {
                throw new StoreTimeoutException(e.reason() + ". Missing: " + missing(), e);
            }
        }
    }

    /** The hosts of those ranks that have come. */
    private SortedMap<Integer, String> hostsOf(List<Integer> ranks) {
        List<Integer> came = new ArrayList<>(ranks);
        came.removeAll(new HashSet<>(Arrivals.missing(store, ranks, rank -> HERE + rank)));
        SortedMap<Integer, String> hosts = new TreeMap<>();
        if (!came.isEmpty()) {
            List<byte[]> values = store.multiGet(came.stream().map(rank -> HERE + rank).toList());
            for (int i = 0; i < came.size(); i++) {
                hosts.put(came.get(i), Arrivals.text(values.get(i)));
            }
        }
        return hosts;
    }

    /** PyTorch's ranks count themselves, but do not say which they are. */
    private String missing() {
        List<Integer> all = IntStream.range(0, place.worldSize()).boxed().toList();
        List<Integer> silent = Arrivals.missing(store, all, rank -> HERE + rank);
        return "ranks " + Arrivals.ranks(silent) + ", but for those among them that are PyTorch's";
    }
}
