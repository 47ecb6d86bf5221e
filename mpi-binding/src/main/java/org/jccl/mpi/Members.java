package org.jccl.mpi;

import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.jccl.FailureContext;
import org.jccl.JcclException;
import org.jccl.MismatchException;
import org.jccl.Store;
import org.jccl.UsageException;
import org.jccl.spi.Arrivals;
import org.jccl.spi.CommunicatorConfig;

/** The processes of {@code MPI_COMM_WORLD} that form a group. */
final class Members {

    private final CommunicatorConfig config;
    private final MpiOptions options;
    private final FailureContext context;

    Members(CommunicatorConfig config, MpiOptions options, FailureContext context) {
        this.config = config;
        this.options = options;
        this.context = context;
    }

    /**
     * Finds the members. With a store, every member writes there that it has arrived, and its
     * options. The communicator is formed only when all have arrived with the same options, because
     * forming cannot be cancelled.
     *
     * @return the rank in the world of each rank of the group
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
        Arrivals arrivals = arrivals(store);
        int mine = MpiErrors.answered(MpiNative.worldRank());
        int worldSize = MpiErrors.answered(MpiNative.worldSize());
        return worldRanks(config, options, context, arrivals, mine, worldSize);
    }

    /**
     * Writes this rank's number in a world of {@code worldSize}, and returns the numbers of all
     * members.
     */
    static int[] worldRanks(
            CommunicatorConfig config,
            MpiOptions options,
            FailureContext context,
            Arrivals arrivals,
            int mine,
            int worldSize) {
        String chosen = chosen(options);
        byte[] own = (mine + chosen).getBytes(StandardCharsets.UTF_8);
        try {
            List<byte[]> values =
                    arrivals.exchange(
                            config.rank(), own, config.joinTimeout(), "MPI", config.joinTimeout());
            return IntStream.range(0, values.size())
                    .map(
                            rank -> {
                                String said = Arrivals.text(values.get(rank));
                                int end = said.indexOf(' ') < 0 ? said.length() : said.indexOf(' ');
                                String number = said.substring(0, end);
                                int found = arrivals.number(rank, number, 0, worldSize - 1);
                                requireSame(rank, said.substring(end), config.rank(), chosen);
                                return found;
                            })
                    .toArray();
        } catch (JcclException e) {
            throw e.at(context);
        }
    }

    /** The options that must be equal on all ranks, because they determine the calls of MPI. */
    private static String chosen(MpiOptions options) {
        return (options.sharedWorld() ? " sharedWorld" : "")
                + (options.checks() ? " checks" : "")
                + (options.trustedSizes() ? " trustedSizes" : "");
    }

    private static void requireSame(int rank, String theirs, int self, String mine) {
        if (!theirs.equals(mine)) {
            throw new MismatchException(
                    FailureContext.NONE,
                    String.format(
                            "MPI: rank %d has the options [%s], rank %d has [%s]; give all ranks"
                                    + " the same MpiOptions, except for the progress thread",
                            self, mine.strip(), rank, theirs.strip()));
        }
    }

    /** Writes that this rank has formed the communicator. */
    void leave() {
        config.store().ifPresent(store -> arrivals(store).leave("formed", List.of()));
    }

    /** Returns the ranks for which this rank waits in MPI, for messages. */
    String giveUp() {
        return config.store()
                .map(store -> arrivals(store).giveUp(config.rank()))
                .orElse("check that all ranks run and make the same group");
    }

    private Arrivals arrivals(Store store) {
        return new Arrivals(store, config.size(), Members::key);
    }

    static String key(int rank) {
        return "rank/" + rank;
    }

    private int[] ofParent() {
        int[] parents = ((MpiCommunicator) config.parent().get()).worldRanks();
        return config.parentRanks().stream().mapToInt(rank -> parents[rank]).toArray();
    }

    private int[] ofWorld() {
        int worldSize = MpiErrors.answered(MpiNative.worldSize());
        int worldRank = MpiErrors.answered(MpiNative.worldRank());
        if (config.size() != worldSize || config.rank() != worldRank) {
            throw new UsageException(
                    context,
                    "MPI sees this process as rank "
                            + worldRank
                            + " of "
                            + worldSize
                            + "; a group with other ranks needs a store");
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
