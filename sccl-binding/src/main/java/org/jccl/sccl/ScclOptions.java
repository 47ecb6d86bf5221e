package org.jccl.sccl;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jccl.BackendOptions;
import org.jccl.Device;
import org.jccl.FailureContext;
import org.jccl.UsageException;
import org.jccl.ranktable.RankTable;
import org.jccl.ranktable.RankTableException;

/**
 * Options of the SCCL backend. A sub-group uses its part of the world's map.
 *
 * @param chipMap the index of each world rank's TPU on this host. If it is empty, the map comes
 *     from the first that is present: the file that {@code RANK_TABLE_FILE} names, {@code
 *     CHIP_MAP}, the devices with which the ranks were built.
 */
public record ScclOptions(List<Integer> chipMap) implements BackendOptions {

    private static final String CHIP_MAP = "CHIP_MAP";

    /**
     * Checks and copies the map.
     *
     * @param chipMap see the class
     * @throws UsageException if the map or a TPU is null, or a TPU is negative or appears twice
     */
    public ScclOptions {
        if (chipMap == null || chipMap.stream().anyMatch(Objects::isNull)) {
            throw usage("the chip map or a TPU in it is null");
        }
        chipMap = List.copyOf(chipMap);
        if (new HashSet<>(chipMap).size() != chipMap.size()) {
            throw usage("the chip map " + chipMap + " has a TPU twice; each rank needs its own");
        }
        for (int chip : chipMap) {
            if (chip < 0) {
                throw usage("the chip map " + chipMap + " has a negative TPU");
            }
        }
    }

    /**
     * Returns options without a map.
     *
     * @return the options
     */
    public static ScclOptions defaults() {
        return new ScclOptions(List.of());
    }

    /**
     * Returns options with a map.
     *
     * @param chips the TPU of each rank of the world
     * @return the options
     * @throws UsageException if the array is null, or a TPU is negative or appears twice
     */
    public static ScclOptions ofChips(int... chips) {
        if (chips == null) {
            throw usage("the chip map is null");
        }
        return new ScclOptions(Arrays.stream(chips).boxed().toList());
    }

    /**
     * Returns options with the map of the file that {@code RANK_TABLE_FILE} names, otherwise of
     * {@code CHIP_MAP}, otherwise without a map.
     *
     * @return the options
     * @throws RankTableException if the file cannot be read or is not valid
     * @throws UsageException if the file has several nodes, or {@code CHIP_MAP} is not a list of
     *     different numbers
     */
    public static ScclOptions fromEnvironment() {
        return from(System.getenv());
    }

    static ScclOptions from(Map<String, String> environment) {
        return RankTable.fromEnvironment(environment)
                .map(ScclOptions::from)
                .orElseGet(() -> from(environment.getOrDefault(CHIP_MAP, "")));
    }

    private static ScclOptions from(RankTable table) {
        if (table.nodeCount() != 1) {
            throw usage(
                    "the rank table has "
                            + table.nodeCount()
                            + " nodes; SCCL joins the TPUs of one host");
        }
        return ofChips(table.chipMap());
    }

    private static ScclOptions from(String list) {
        List<Integer> chips = new ArrayList<>();
        try {
            for (String chip : list.isBlank() ? new String[0] : list.split(",", -1)) {
                chips.add(Integer.parseInt(chip.strip()));
            }
        } catch (NumberFormatException e) {
            throw usage(CHIP_MAP + " must be a list like 0,1,2,3, got '" + list + "'");
        }
        return new ScclOptions(chips);
    }

    /**
     * Returns the TPU of a rank.
     *
     * @param rank rank in the world
     * @return its device
     * @throws UsageException if the map has no such rank
     */
    public Device device(int rank) {
        if (rank < 0 || rank >= chipMap.size()) {
            throw usage(
                    chipMap.isEmpty()
                            ? "there is no chip map; set RANK_TABLE_FILE or CHIP_MAP"
                            : "the chip map " + chipMap + " has no rank " + rank);
        }
        return new Device(ScclProvider.DEVICE_TYPE, chipMap.get(rank));
    }

    private static UsageException usage(String problem) {
        return new UsageException(FailureContext.NONE, problem);
    }

    @Override
    public String backend() {
        return ScclProvider.NAME;
    }
}
