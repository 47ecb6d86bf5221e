package org.jccl.sccl;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.jccl.FailureContext;
import org.jccl.Store;
import org.jccl.UsageException;
import org.jccl.spi.Arrivals;
import org.jccl.spi.CommunicatorConfig;

/** Finds the TPU of each rank of a group, which the library requires. */
final class ChipMap {

    /** The same in all containers of a host, unlike its name. */
    private static final Path HOST_ID = Path.of("/proc/sys/kernel/random/boot_id");

    private ChipMap() {}

    /**
     * The map of a group. It is the first that is present: its part of the parent's map, the map of
     * the options or the environment, the devices that the ranks exchange through the store.
     */
    static int[] of(
            CommunicatorConfig config, ScclOptions options, Map<String, String> environment) {
        if (config.parent().isPresent() && config.parent().get() instanceof HasChipMap parent) {
            return config.parentRanks().stream().mapToInt(rank -> parent.chipMap()[rank]).toArray();
        }
        List<Integer> given = options.chipMap();
        if (given.isEmpty()) {
            given = ScclOptions.from(environment).chipMap();
        }
        if (given.isEmpty()) {
            return gather(config);
        }
        if (given.size() < config.size()) {
            throw usage(
                    "the chip map "
                            + given
                            + " has "
                            + given.size()
                            + " TPUs for "
                            + config.size()
                            + " ranks");
        }
        int mine = given.get(config.rank());
        if (mine != config.device().index()) {
            throw usage(
                    "the chip map "
                            + given
                            + " gives rank "
                            + config.rank()
                            + " the TPU "
                            + mine
                            + ", but this rank's device is "
                            + config.device()
                            + "; build the group with"
                            + " device(ScclOptions.fromEnvironment().device(rank)), or without a chip"
                            + " map");
        }
        return given.stream().limit(config.size()).mapToInt(Integer::intValue).toArray();
    }

    /** A communicator whose map its sub-groups use. */
    interface HasChipMap {
        int[] chipMap();
    }

    private static int[] gather(CommunicatorConfig config) {
        Store store = config.requireStore("SCCL needs a store to connect ranks");
        String mine = config.device().index() + " " + hostId();
        Arrivals arrivals = new Arrivals(store, config.size(), ChipMap::key);
        arrivals.arrive(config.rank(), mine.getBytes(StandardCharsets.UTF_8));
        List<byte[]> values =
                arrivals.await(
                        config.joinTimeout(),
                        "exchanging which TPU each rank uses",
                        config.joinTimeout());
        int[] chips = new int[config.size()];
        Map<String, Integer> ranks = new HashMap<>();
        for (int rank = 0; rank < chips.length; rank++) {
            String value = Arrivals.text(values.get(rank));
            String[] parts = value.split(" ", 2);
            if (parts.length != 2) {
                throw arrivals.corrupt(rank, value, "a TPU and a host");
            }
            chips[rank] = arrivals.number(rank, parts[0], 0, Integer.MAX_VALUE);
            if (!parts[1].equals(hostId())) {
                throw usage(
                        "rank " + rank + " is on another host; SCCL joins the TPUs of one host");
            }
            Integer other = ranks.put(value, rank);
            if (other != null) {
                throw usage(
                        "ranks "
                                + other
                                + " and "
                                + rank
                                + " both use TPU "
                                + chips[rank]
                                + "; give each rank its own with device(new Device(\"tpu\", i)): "
                                + Arrays.toString(chips));
            }
        }
        return chips;
    }

    /** The keys that {@link #of} writes into the store for a group. */
    static List<String> keys(int size) {
        return IntStream.range(0, size).mapToObj(ChipMap::key).toList();
    }

    private static String key(int rank) {
        return "chip/" + rank;
    }

    private static String hostId() {
        try {
            return Files.readString(HOST_ID).strip();
        } catch (IOException e) {
            return "unknown";
        }
    }

    private static UsageException usage(String problem) {
        return new UsageException(FailureContext.NONE, problem);
    }
}
