package org.jccl.mpi;

import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.jccl.FailureContext;
import org.jccl.OperationTimeoutException;
import org.jccl.Store;
import org.jccl.StoreTimeoutException;
import org.jccl.UsageException;
import org.jccl.spi.CommunicatorConfig;
import org.jccl.spi.Durations;

/** Which processes of {@code MPI_COMM_WORLD} a group has. */
final class Members {

    private final CommunicatorConfig config;
    private final FailureContext context;

    Members(CommunicatorConfig config, FailureContext context) {
        this.config = config;
        this.context = context;
    }

    /**
     * Finds them. With a store, every member says there that it has come, so that forming the
     * communicator, which has no deadline, begins when all are there.
     *
     * @return by rank in the group, the rank in the world
     */
    int[] worldRanks() {
        int[] ranks =
                config.store().isPresent()
                        ? meet(config.store().get())
                        : config.parent().isPresent() ? ofParent() : ofWorld();
        requireDistinct(ranks);
        return ranks;
    }

    private int[] meet(Store store) {
        store.set(
                key(config.rank()),
                Integer.toString(MpiNative.worldRank()).getBytes(StandardCharsets.UTF_8));
        List<String> keys = IntStream.range(0, config.size()).mapToObj(Members::key).toList();
        try {
            store.await(keys, config.timeout());
        } catch (StoreTimeoutException e) {
            List<Integer> missing =
                    IntStream.range(0, config.size())
                            .filter(rank -> !store.check(List.of(key(rank))))
                            .boxed()
                            .toList();
            throw new OperationTimeoutException(
                    context,
                    "MPI: ranks "
                            + missing
                            + " of "
                            + config.size()
                            + " did not join within "
                            + Durations.text(config.timeout())
                            + "; see whether they were started and create the same group",
                    e);
        }
        return store.multiGet(keys).stream()
                .mapToInt(value -> Integer.parseInt(new String(value, StandardCharsets.UTF_8)))
                .toArray();
    }

    private static String key(int rank) {
        return "rank/" + rank;
    }

    private int[] ofParent() {
        int[] parents = ((MpiCommunicator) config.parent().get()).worldRanks();
        return config.parentRanks().stream().mapToInt(rank -> parents[rank]).toArray();
    }

    private int[] ofWorld() {
        if (config.size() != MpiNative.worldSize() || config.rank() != MpiNative.worldRank()) {
            throw new UsageException(
                    context,
                    "this process is rank "
                            + MpiNative.worldRank()
                            + " of "
                            + MpiNative.worldSize()
                            + " to MPI; a group with other ranks needs a store");
        }
        return IntStream.range(0, config.size()).toArray();
    }

    private void requireDistinct(int[] worldRanks) {
        Map<Integer, Integer> seen = new HashMap<>();
        for (int rank = 0; rank < worldRanks.length; rank++) {
            Integer other = seen.put(worldRanks[rank], rank);
            if (other != null) {
                throw new UsageException(
                        context,
                        "ranks "
                                + other
                                + " and "
                                + rank
                                + " are both process "
                                + worldRanks[rank]
                                + " of MPI: a process can be one rank only; start a process for"
                                + " each rank with mpirun -n "
                                + worldRanks.length);
            }
        }
    }
}
