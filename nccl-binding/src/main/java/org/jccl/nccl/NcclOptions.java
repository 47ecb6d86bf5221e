package org.jccl.nccl;

import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.stream.Stream;
import org.jccl.BackendOptions;
import org.jccl.FailureContext;
import org.jccl.UsageException;

/**
 * Options of the NCCL backend; start from {@link #defaults()}. What is empty is left to NCCL.
 * NCCL's own environment variables go before these options.
 *
 * @param highPriorityStream whether the communication stream goes before other streams
 * @param blocking false to have connecting end by an abort when its time is over; each operation
 *     then costs a thread inside NCCL
 * @param minCtas fewest blocks of the device a collective may take, at least 1; only with {@code
 *     maxCtas}
 * @param maxCtas most blocks of the device a collective may take, not below {@code minCtas}
 * @param cgaClusterSize blocks that share an SM cluster, 0 to 8
 * @param networkName name of the network plugin, for instance {@code Socket} or {@code IB}
 * @param trafficClass class that the network gives the traffic; its meaning is the network's. Needs
 *     NCCL 2.26 or later; forming a group with an older one throws a {@link UsageException}
 * @param splitShare whether groups that are split off share the resources of the group they come
 *     from; such groups must then not be used at the same time
 */
public record NcclOptions(
        boolean highPriorityStream,
        boolean blocking,
        OptionalInt minCtas,
        OptionalInt maxCtas,
        OptionalInt cgaClusterSize,
        Optional<String> networkName,
        OptionalInt trafficClass,
        boolean splitShare)
        implements BackendOptions {

    private static final int LARGEST_CLUSTER = 8;

    /**
     * Checks the arguments.
     *
     * @param highPriorityStream see the class
     * @param blocking see the class
     * @param minCtas see the class
     * @param maxCtas see the class
     * @param cgaClusterSize see the class
     * @param networkName see the class
     * @param trafficClass see the class
     * @param splitShare see the class
     * @throws UsageException when something is null, a number is out of its range, the name blank,
     *     or {@code minCtas} stands without {@code maxCtas}
     */
    public NcclOptions {
        if (Stream.of(minCtas, maxCtas, cgaClusterSize, networkName, trafficClass)
                .anyMatch(Objects::isNull)) {
            throw bad("what is left to NCCL is empty", "null");
        }
        if (networkName.filter(NcclOptions::isNoName).isPresent()) {
            throw bad("networkName must be a name", "'" + networkName.get() + "'");
        }
        if (minCtas.orElse(1) < 1 || maxCtas.orElse(1) < 1) {
            throw bad("minCtas and maxCtas must be at least 1", minCtas + ", " + maxCtas);
        }
        if (minCtas.isPresent() && maxCtas.isEmpty()) {
            throw bad(
                    "minCtas needs maxCtas too, without which NCCL takes every minimum for too high",
                    minCtas + ", " + maxCtas);
        }
        if (minCtas.isPresent() && minCtas.getAsInt() > maxCtas.getAsInt()) {
            throw bad("minCtas must not be above maxCtas", minCtas + ", " + maxCtas);
        }
        int cluster = cgaClusterSize.orElse(0);
        if (cluster < 0 || cluster > LARGEST_CLUSTER) {
            throw bad("cgaClusterSize must be from 0 to " + LARGEST_CLUSTER, "" + cluster);
        }
    }

    /**
     * Tells whether communicators block.
     *
     * @param variable NCCL_COMM_BLOCKING, which goes before the option
     */
    boolean blocks(String variable) {
        return switch (variable.strip()) {
            case "0" -> false;
            case "1" -> true;
            default -> blocking;
        };
    }

    private static boolean isNoName(String name) {
        return name.isBlank() || name.indexOf('\0') >= 0;
    }

    private static UsageException bad(String rule, String given) {
        return new UsageException(FailureContext.NONE, "NCCL options: " + rule + ", got " + given);
    }

    /**
     * A blocking communicator on a stream of normal priority, the rest left to NCCL.
     *
     * @return the options
     */
    public static NcclOptions defaults() {
        return new NcclOptions(
                false,
                true,
                OptionalInt.empty(),
                OptionalInt.empty(),
                OptionalInt.empty(),
                Optional.empty(),
                OptionalInt.empty(),
                false);
    }

    /**
     * These options with another {@code highPriorityStream}.
     *
     * @param value see the class
     * @return the options
     */
    public NcclOptions withHighPriorityStream(boolean value) {
        return new NcclOptions(
                value,
                blocking,
                minCtas,
                maxCtas,
                cgaClusterSize,
                networkName,
                trafficClass,
                splitShare);
    }

    /**
     * These options with another {@code blocking}.
     *
     * @param value see the class
     * @return the options
     */
    public NcclOptions withBlocking(boolean value) {
        return new NcclOptions(
                highPriorityStream,
                value,
                minCtas,
                maxCtas,
                cgaClusterSize,
                networkName,
                trafficClass,
                splitShare);
    }

    /**
     * These options with limits for the blocks of the device that a collective takes.
     *
     * @param min see {@code minCtas}
     * @param max see {@code maxCtas}
     * @return the options
     * @throws UsageException when one is below 1 or {@code min} above {@code max}
     */
    public NcclOptions withCtas(int min, int max) {
        return new NcclOptions(
                highPriorityStream,
                blocking,
                OptionalInt.of(min),
                OptionalInt.of(max),
                cgaClusterSize,
                networkName,
                trafficClass,
                splitShare);
    }

    /**
     * These options with a {@code cgaClusterSize}.
     *
     * @param value see the class
     * @return the options
     * @throws UsageException when it is out of range
     */
    public NcclOptions withCgaClusterSize(int value) {
        return new NcclOptions(
                highPriorityStream,
                blocking,
                minCtas,
                maxCtas,
                OptionalInt.of(value),
                networkName,
                trafficClass,
                splitShare);
    }

    /**
     * These options with a {@code networkName}.
     *
     * @param value see the class
     * @return the options
     * @throws UsageException when it is null or blank
     */
    public NcclOptions withNetworkName(String value) {
        return new NcclOptions(
                highPriorityStream,
                blocking,
                minCtas,
                maxCtas,
                cgaClusterSize,
                Optional.of(value == null ? "" : value),
                trafficClass,
                splitShare);
    }

    /**
     * These options with a {@code trafficClass}.
     *
     * @param value see the class
     * @return the options
     */
    public NcclOptions withTrafficClass(int value) {
        return new NcclOptions(
                highPriorityStream,
                blocking,
                minCtas,
                maxCtas,
                cgaClusterSize,
                networkName,
                OptionalInt.of(value),
                splitShare);
    }

    /**
     * These options with another {@code splitShare}.
     *
     * @param value see the class
     * @return the options
     */
    public NcclOptions withSplitShare(boolean value) {
        return new NcclOptions(
                highPriorityStream,
                blocking,
                minCtas,
                maxCtas,
                cgaClusterSize,
                networkName,
                trafficClass,
                value);
    }

    @Override
    public String backend() {
        return NcclProvider.NAME;
    }
}
