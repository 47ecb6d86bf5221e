package org.jccl.hccl;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.stream.Stream;
import org.jccl.BackendOptions;
import org.jccl.FailureContext;
import org.jccl.UsageException;
import org.jccl.spi.Durations;

/**
 * Options of the HCCL backend; start from {@link #defaults()}. If an option is empty, HCCL reads
 * its environment variable. A given option takes precedence over the variable. All ranks must give
 * the same options, except the path of the rank table.
 *
 * @param rankTable the file with the devices of all ranks of the world. If it is empty, {@code
 *     RANK_TABLE_FILE} names it; without that variable the ranks find each other through the store
 * @param bufferMegabytes the size of each of the two buffers that a communicator has on its device,
 *     at least 1. If it is empty, the size is {@code HCCL_BUFFSIZE}, or else 200
 * @param subGroupBufferMegabytes the size of the buffers of a group that is made from another
 *     group. If it is empty, the size is {@code bufferMegabytes}, else {@code HCCL_BUFFSIZE}, else
 *     50
 * @param determinism whether results have the same bits in each run
 * @param expansion where operations are turned into tasks
 * @param trafficClass the traffic class of the RDMA network, 0 to 252 in steps of 4
 * @param serviceLevel the service level of the RDMA network, 0 to 7
 * @param executionTimeout how long a device waits for its peers, in whole seconds; 0 means no limit
 * @param algorithm a value of {@code HCCL_ALGO}, at most 1599 characters
 */
public record HcclOptions(
        Optional<Path> rankTable,
        OptionalInt bufferMegabytes,
        OptionalInt subGroupBufferMegabytes,
        Optional<Determinism> determinism,
        Optional<Expansion> expansion,
        OptionalInt trafficClass,
        OptionalInt serviceLevel,
        Optional<Duration> executionTimeout,
        Optional<String> algorithm)
        implements BackendOptions {

    private static final int LARGEST_TRAFFIC_CLASS = 252;
    private static final int TRAFFIC_CLASS_STEP = 4;
    private static final int LARGEST_SERVICE_LEVEL = 7;
    private static final int LONGEST_ALGORITHM = 1599;

    /** Whether results have the same bits in each run. The order is that of HCCL's numbers. */
    public enum Determinism {
        /** The fastest order of additions. */
        OFF,
        /** One order of additions. */
        ON,
        /** One order of additions that keeps more bits; Atlas A2 only. */
        STRICT
    }

    /** Where operations are turned into tasks. The order is that of HCCL's numbers. */
    public enum Expansion {
        /** The default of the device. */
        DEFAULT,
        /** On the host. */
        HOST,
        /** On the AI CPU of the device. */
        AI_CPU,
        /** The vector cores of the device, if they support the operation. */
        AIV,
        /** The vector cores of the device only. */
        AIV_ONLY,
        /** The collective unit, with memory semantics; Ascend 950 only. */
        CCU_MS,
        /** The collective unit, scheduled; Ascend 950 only. */
        CCU_SCHED
    }

    /**
     * Checks the arguments.
     *
     * @param rankTable see the class
     * @param bufferMegabytes see the class
     * @param subGroupBufferMegabytes see the class
     * @param determinism see the class
     * @param expansion see the class
     * @param trafficClass see the class
     * @param serviceLevel see the class
     * @param executionTimeout see the class
     * @param algorithm see the class
     * @throws UsageException if an argument is null, or a number is out of its range
     */
    public HcclOptions {
        if (Stream.of(
                        rankTable,
                        bufferMegabytes,
                        subGroupBufferMegabytes,
                        determinism,
                        expansion,
                        trafficClass,
                        serviceLevel,
                        executionTimeout,
                        algorithm)
                .anyMatch(Objects::isNull)) {
            throw bad("what is left to HCCL is empty", null);
        }
        if (bufferMegabytes.orElse(1) < 1) {
            throw bad("bufferMegabytes must be at least 1", bufferMegabytes.getAsInt());
        }
        if (subGroupBufferMegabytes.orElse(1) < 1) {
            throw bad(
                    "subGroupBufferMegabytes must be at least 1",
                    subGroupBufferMegabytes.getAsInt());
        }
        int traffic = trafficClass.orElse(0);
        if (traffic < 0 || traffic > LARGEST_TRAFFIC_CLASS || traffic % TRAFFIC_CLASS_STEP != 0) {
            throw bad("trafficClass must be from 0 to 252 in steps of 4", traffic);
        }
        int service = serviceLevel.orElse(0);
        if (service < 0 || service > LARGEST_SERVICE_LEVEL) {
            throw bad("serviceLevel must be from 0 to 7", service);
        }
        Duration execution = executionTimeout.orElse(Duration.ZERO);
        if (execution.isNegative()
                || execution.getNano() != 0
                || execution.getSeconds() > Integer.MAX_VALUE) {
            throw bad(
                    "executionTimeout must be whole seconds, at most 2147483647",
                    Durations.text(execution));
        }
        String words = algorithm.orElse("");
        if (words.length() > LONGEST_ALGORITHM || !words.chars().allMatch(c -> c > 0 && c < 128)) {
            throw bad("algorithm must be at most 1599 ASCII characters", words);
        }
    }

    private static <T> Optional<T> given(T value, String name) {
        if (value == null) {
            throw bad(name + " must be given", null);
        }
        return Optional.of(value);
    }

    private static UsageException bad(String rule, Object given) {
        return new UsageException(FailureContext.NONE, "HCCL options: " + rule + ", got " + given);
    }

    /**
     * Options that are all empty.
     *
     * @return the options
     */
    public static HcclOptions defaults() {
        return new HcclOptions(
                Optional.empty(),
                OptionalInt.empty(),
                OptionalInt.empty(),
                Optional.empty(),
                Optional.empty(),
                OptionalInt.empty(),
                OptionalInt.empty(),
                Optional.empty(),
                Optional.empty());
    }

    /**
     * These options with a rank table.
     *
     * @param file see {@code rankTable}
     * @return the options
     * @throws UsageException if it is null
     */
    public HcclOptions withRankTable(Path file) {
        Fields fields = new Fields();
        fields.rankTable = given(file, "the rank table");
        return fields.options();
    }

    /**
     * These options with a size of buffers.
     *
     * @param megabytes see {@code bufferMegabytes}
     * @return the options
     * @throws UsageException if it is below 1
     */
    public HcclOptions withBufferMegabytes(int megabytes) {
        Fields fields = new Fields();
        fields.bufferMegabytes = OptionalInt.of(megabytes);
        return fields.options();
    }

    /**
     * These options with a size of the buffers of groups that are made from another group.
     *
     * @param megabytes see {@code subGroupBufferMegabytes}
     * @return the options
     * @throws UsageException if it is below 1
     */
    public HcclOptions withSubGroupBufferMegabytes(int megabytes) {
        Fields fields = new Fields();
        fields.subGroupBufferMegabytes = OptionalInt.of(megabytes);
        return fields.options();
    }

    /**
     * These options with a determinism.
     *
     * @param value see {@code determinism}
     * @return the options
     * @throws UsageException if it is null
     */
    public HcclOptions withDeterminism(Determinism value) {
        Fields fields = new Fields();
        fields.determinism = given(value, "determinism");
        return fields.options();
    }

    /**
     * These options with an expansion.
     *
     * @param value see {@code expansion}
     * @return the options
     * @throws UsageException if it is null
     */
    public HcclOptions withExpansion(Expansion value) {
        Fields fields = new Fields();
        fields.expansion = given(value, "expansion");
        return fields.options();
    }

    /**
     * These options with classes of the RDMA network.
     *
     * @param traffic see {@code trafficClass}
     * @param service see {@code serviceLevel}
     * @return the options
     * @throws UsageException if one is out of range
     */
    public HcclOptions withNetworkClasses(int traffic, int service) {
        Fields fields = new Fields();
        fields.trafficClass = OptionalInt.of(traffic);
        fields.serviceLevel = OptionalInt.of(service);
        return fields.options();
    }

    /**
     * These options with an execution timeout.
     *
     * @param timeout see {@code executionTimeout}
     * @return the options
     * @throws UsageException if it is null or not in whole seconds
     */
    public HcclOptions withExecutionTimeout(Duration timeout) {
        Fields fields = new Fields();
        fields.executionTimeout = given(timeout, "executionTimeout");
        return fields.options();
    }

    /**
     * These options with an algorithm.
     *
     * @param words see {@code algorithm}
     * @return the options
     * @throws UsageException if it is null or too long
     */
    public HcclOptions withAlgorithm(String words) {
        Fields fields = new Fields();
        fields.algorithm = given(words, "algorithm");
        return fields.options();
    }

    /** The fields of these options, of which a caller changes some. */
    private final class Fields {

        private Optional<Path> rankTable = HcclOptions.this.rankTable;
        private OptionalInt bufferMegabytes = HcclOptions.this.bufferMegabytes;
        private OptionalInt subGroupBufferMegabytes = HcclOptions.this.subGroupBufferMegabytes;
        private Optional<Determinism> determinism = HcclOptions.this.determinism;
        private Optional<Expansion> expansion = HcclOptions.this.expansion;
        private OptionalInt trafficClass = HcclOptions.this.trafficClass;
        private OptionalInt serviceLevel = HcclOptions.this.serviceLevel;
        private Optional<Duration> executionTimeout = HcclOptions.this.executionTimeout;
        private Optional<String> algorithm = HcclOptions.this.algorithm;

        private HcclOptions options() {
            return new HcclOptions(
                    rankTable,
                    bufferMegabytes,
                    subGroupBufferMegabytes,
                    determinism,
                    expansion,
                    trafficClass,
                    serviceLevel,
                    executionTimeout,
                    algorithm);
        }
    }

    @Override
    public String backend() {
        return HcclProvider.NAME;
    }
}
